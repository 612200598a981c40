fn main() {
    let a: Vec<u64> = std::env::args().skip(1).map(|x| x.parse().unwrap()).collect();
    let (report, lines) = seriatim_sim::run_and_keep(a[0], a[1], true);
    for l in &lines {
        println!("{l}");
    }
    println!("{:?}", report.verdict);
}
