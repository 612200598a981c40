//! `sim`: reports, traces, and builds without bugs.

use serde_json::Value;

use crate::process::{Ran, run};

fn json(arguments: &[&str]) -> Value {
    let said = Ran::from(run(&[arguments, &["-o", "json"]].concat())).ok();
    serde_json::from_str(&said).unwrap()
}

#[test]
fn a_seed_holds_and_gives_the_same_in_every_process() {
    let report = json(&["sim", "--seed", "7", "--steps", "200"]);
    assert_eq!(report, json(&["sim", "--seed", "7", "--steps", "200"]));
    assert_eq!((&report["seed"], &report["steps"]), (&7.into(), &200.into()));
    assert_eq!(report["verdict"], "held");
    assert_eq!(report["trace_hash"].as_str().unwrap().len(), 32, "{report}");
    assert!(report["virtual_ms"].as_u64().unwrap() > 0, "{report}");
    assert!(report["counts"].is_object(), "{report}");
    let table = Ran::from(run(&["sim", "--seed", "7", "--steps", "200"])).ok();
    assert!(table.starts_with("seed          7\nsteps         200\n"), "{table}");
    assert!(table.contains("verdict       held\n"), "{table}");
}

#[test]
fn a_trace_is_everything_that_happened() {
    let report = json(&["sim", "--steps", "300", "--trace"]);
    let lines = report["timeline"].as_array().unwrap();
    assert!(lines.len() > 100, "{report}");
    assert!(lines[0].as_str().unwrap().ends_with("server: begins"), "{report}");
    let text = Ran::from(run(&["sim", "--steps", "300", "--trace"])).ok();
    let all = lines.iter().map(|line| format!("{}\n", line.as_str().unwrap()));
    assert!(text.starts_with(&all.collect::<String>()), "{text}");
}

#[test]
fn many_seeds_are_summed_up() {
    let many = json(&["sim", "--seed", "3", "--seeds", "4", "--steps", "100"]);
    let one = |seed: &str| json(&["sim", "--seed", seed, "--steps", "100"]);
    let events = ["3", "4", "5", "6"].iter().map(|seed| one(seed)["events"].as_u64().unwrap());
    assert_eq!(many["events"], events.sum::<u64>());
    assert_eq!(
        (&many["seed"], &many["seeds"], &many["steps"]),
        (&3.into(), &4.into(), &100.into())
    );
    assert_eq!(many["verdict"], "held");
    for rate in ["seconds", "seeds_per_second", "virtual_hours_per_minute"] {
        assert!(many[rate].as_f64().unwrap() > 0.0, "{rate} in {many}");
    }
    let table = Ran::from(run(&["sim", "--seeds", "2", "--steps", "100"])).ok();
    assert!(table.contains("virtual hours per real minute\n"), "{table}");
}

#[test]
#[cfg(not(feature = "planted"))]
fn a_normal_build_has_no_bugs_on_purpose() {
    let lists = ["sim", "--list-mutations", "-o", "json"];
    for arguments in [&lists[..], &["sim", "--mutation", "any"]] {
        let said = Ran::from(run(arguments)).failed(2);
        assert!(said.contains("this build has no mutations"), "{said}");
        assert!(said.contains("--features planted"), "{said}");
    }
}

#[test]
fn what_cannot_be_is_refused() {
    for wrong in [&["--steps", "0"][..], &["--seeds", "0"], &["--seeds", "2", "--trace"]] {
        Ran::from(run(&[&["sim"], wrong].concat())).failed(2);
    }
    let last = u64::MAX.to_string();
    let said = Ran::from(run(&["sim", "--seed", &last, "--seeds", "2"])).failed(2);
    assert!(said.contains("not so many seeds"), "{said}");
}
