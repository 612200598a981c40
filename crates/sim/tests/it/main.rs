//! The simulator: it holds, it is the same every time, and what it has found stays found.

mod found;
mod golden;
mod hundred;
