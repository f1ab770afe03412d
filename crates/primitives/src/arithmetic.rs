//! Operations of the core, each of which needs the result of the one before.

use tiermark_kernels::operation::{Calculation, Number, ROUND, chain};
use tiermark_model::OsGroup;

use crate::body::{Body, Make, Prepared, Primitive};
use crate::failure::Failure;

const fn row(id: &'static str, text: &'static str, make: Make) -> Primitive {
    Primitive::new(OsGroup::Arithmetic, id, text, make)
}

const INTEGERS: &str = "a chain of equal instructions on general registers, each of which needs the result of the one \
    before. The number is the latency of one result, not how many instructions can begin at once";
const QUOTIENTS: &str = "a chain of divisions of a constant by the previous quotient. The quotients have half the \
    width of the numbers; many cores take less time for smaller quotients";
const FLOATS: &str =
    "a chain of equal scalar instructions on vector registers. The number is the latency of one result";
const FLOAT_QUOTIENTS: &str = "a chain of scalar divisions of a constant by the previous quotient";

/// The rows of this group.
pub(super) static PRIMITIVES: &[Primitive] = &[
    row("int32 add", INTEGERS, |_| repeated(Calculation::Add, Number::Int32)),
    row("int32 mul", INTEGERS, |_| repeated(Calculation::Mul, Number::Int32)),
    row("int32 div", QUOTIENTS, |_| repeated(Calculation::Div, Number::Int32)),
    row("int64 add", INTEGERS, |_| repeated(Calculation::Add, Number::Int64)),
    row("int64 mul", INTEGERS, |_| repeated(Calculation::Mul, Number::Int64)),
    row("int64 div", QUOTIENTS, |_| repeated(Calculation::Div, Number::Int64)),
    row("float add", FLOATS, |_| repeated(Calculation::Add, Number::Float)),
    row("float mul", FLOATS, |_| repeated(Calculation::Mul, Number::Float)),
    row("float div", FLOAT_QUOTIENTS, |_| repeated(Calculation::Div, Number::Float)),
    row("double add", FLOATS, |_| repeated(Calculation::Add, Number::Double)),
    row("double mul", FLOATS, |_| repeated(Calculation::Mul, Number::Double)),
    row("double div", FLOAT_QUOTIENTS, |_| repeated(Calculation::Div, Number::Double)),
];

/// A chain of whole rounds.
struct Chain {
    calculation: Calculation,
    number: Number,
}

fn repeated(calculation: Calculation, number: Number) -> Prepared {
    Ok(Box::new(Chain { calculation, number }))
}

impl Body for Chain {
    /// A round; blocks are this many or a power of two times as many.
    fn least(&self) -> u64 {
        ROUND
    }

    fn run(&mut self, times: u64) -> Result<u64, Failure> {
        std::hint::black_box(chain(self.calculation, self.number, times / ROUND));
        Ok(0)
    }
}
