//! One expectation: two products that are compared.

use tiermark_model::messages::check as says;
use tiermark_model::{CheckUnit, Comparator, Note};

use crate::names::Name;
use crate::token::{Kind, Token, tokens};

/// Operands of a side at most.
const MOST_OPERANDS: usize = 8;

/// An expectation: `read.dram.all >= 0.75 x peak`.
#[derive(Debug, Clone, PartialEq)]
pub struct Expectation(pub(crate) Comparison<Name>);

/// Two products that are compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison<N> {
    pub(crate) text: String,
    pub(crate) left: Side<N>,
    pub(crate) comparator: Comparator,
    pub(crate) right: Side<N>,
    /// Unit of both sides.
    pub(crate) unit: CheckUnit,
}

/// Numbers and figures that are multiplied and divided, from left to right.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Side<N> {
    pub(crate) first: Operand<N>,
    pub(crate) rest: Vec<(Sign, Operand<N>)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sign {
    Times,
    Over,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Operand<N> {
    Number(f64, CheckUnit),
    Name(N),
}

impl Expectation {
    /// Reads an expectation.
    ///
    /// # Errors
    /// The first mistake, with its character and what to write instead.
    pub fn parse(text: &str) -> Result<Self, Note> {
        Comparison::parse(text).map(Self)
    }
}

impl<N: Named> Comparison<N> {
    /// Reads a comparison.
    ///
    /// # Errors
    /// The first mistake, with its character and what to write instead.
    pub fn parse(text: &str) -> Result<Self, Note> {
        let (left, comparator, right) = comparison(text)?;
        let mut read = Self { text: text.trim().to_owned(), left, comparator, right, unit: CheckUnit::Number };
        if read.names().all(Named::is_literal) {
            return Err(says::expectation_without_name());
        }
        read.unit = common_unit(&read.left, &read.right)?;
        let is_plain = read.left.rest.is_empty() && read.right.rest.is_empty();
        if read.unit == CheckUnit::Text && !(is_plain && read.comparator.is_of_identity()) {
            return Err(says::text_not_calculated());
        }
        Ok(read)
    }
}

impl<N> Comparison<N> {
    /// Every name, in the order of the text.
    pub fn names(&self) -> impl Iterator<Item = &N> {
        self.left.names().chain(self.right.names())
    }

    /// Whether it holds for these numbers; `None` if a number is missing or the result is not finite.
    pub fn holds(&self, number: impl Fn(&N) -> Option<f64>) -> Option<bool> {
        let (left, right) = (self.left.product(&number)?, self.right.product(&number)?);
        Some(holds(left, self.comparator, right))
    }

    /// How many times beyond its limit the left side is: above 1 if the comparison holds. `None` as for
    /// [`Self::holds`], of 0, and of `==` and `!=`, which have no beyond.
    pub fn excess(&self, number: impl Fn(&N) -> Option<f64>) -> Option<f64> {
        let ratio = self.left.product(&number)? / self.right.product(&number)?;
        let excess = match self.comparator {
            Comparator::Below | Comparator::AtMost => 1.0 / ratio,
            Comparator::Above | Comparator::AtLeast => ratio,
            Comparator::Same | Comparator::Other => return None,
        };
        excess.is_finite().then_some(excess)
    }
}

/// Whether a comparison of two numbers holds.
fn holds(left: f64, comparator: Comparator, right: f64) -> bool {
    match comparator {
        Comparator::Below => left < right,
        Comparator::AtMost => left <= right,
        Comparator::Above => left > right,
        Comparator::AtLeast => left >= right,
        Comparator::Same => left == right,
        Comparator::Other => left != right,
    }
}

impl<N> Side<N> {
    /// Its names.
    pub(crate) fn names(&self) -> impl Iterator<Item = &N> {
        let operands = std::iter::once(&self.first).chain(self.rest.iter().map(|(_, operand)| operand));
        operands.filter_map(|operand| if let Operand::Name(name) = operand { Some(name) } else { None })
    }

    /// The product of numbers; `None` if one is missing or the product is not finite.
    pub(crate) fn product(&self, number: impl Fn(&N) -> Option<f64>) -> Option<f64> {
        let operand_value = |operand: &Operand<N>| match operand {
            Operand::Number(value, _) => Some(*value),
            Operand::Name(name) => number(name),
        };
        let product = self.rest.iter().try_fold(operand_value(&self.first)?, |product, (sign, operand)| {
            let value = operand_value(operand)?;
            Some(if *sign == Sign::Times { product * value } else { product / value })
        });
        product.filter(|product| product.is_finite())
    }
}

/// Reads two products and the comparison between them.
///
/// # Errors
/// The first mistake, with its character.
fn comparison<N: Named>(text: &str) -> Result<(Side<N>, Comparator, Side<N>), Note> {
    let tokens = tokens(text)?;
    let at = tokens.iter().position(|token| matches!(token.kind, Kind::Comparator(_)));
    let (left, behind) = tokens.split_at(at.unwrap_or(tokens.len()));
    let left = side(left, behind.first())?;
    let Some((Kind::Comparator(comparator), right)) = behind.split_first().map(|(sign, right)| (sign.kind, right))
    else {
        return Err(says::comparison_missing());
    };
    if let Some(second) = right.iter().find(|token| matches!(token.kind, Kind::Comparator(_))) {
        return Err(says::comparison_twice(second.at));
    }
    let right =
        if right.is_empty() { Err(says::operand_expected(text.chars().count() + 1, "")) } else { side(right, None) }?;
    Ok((left, comparator, right))
}

/// Reads a product. `end` is what follows it.
fn side<N: Named>(tokens: &[Token<'_>], end: Option<&Token<'_>>) -> Result<Side<N>, Note> {
    let behind = || match (end, tokens.last()) {
        (Some(token), _) => (token.at, token.text),
        (None, Some(last)) => (last.at + last.text.chars().count(), ""),
        (None, None) => (1, ""),
    };
    let operand = |token: Option<&Token<'_>>| match token.map(|token| (token, token.kind)) {
        Some((_, Kind::Number(value, unit))) => Ok(Operand::Number(value, unit)),
        Some((token, Kind::Name)) => N::read(token.text, token.at).map(Operand::Name),
        Some((token, _)) => Err(says::operand_expected(token.at, token.text)),
        None => {
            let (at, found) = behind();
            Err(says::operand_expected(at, found))
        }
    };
    let mut tokens_left = tokens.iter();
    let mut side = Side { first: operand(tokens_left.next())?, rest: Vec::new() };
    while let Some(token) = tokens_left.next() {
        let sign = match token.kind {
            Kind::Times => Sign::Times,
            Kind::Over => Sign::Over,
            _ => return Err(says::operator_expected(token.at, token.text)),
        };
        side.rest.push((sign, operand(tokens_left.next())?));
        if side.rest.len() >= MOST_OPERANDS {
            return Err(says::expectation_too_long(MOST_OPERANDS));
        }
    }
    Ok(side)
}

/// The powers of time, rate, transfers, memory, clock and text in a product.
type Powers = [i32; 6];

const KINDS: [(Powers, CheckUnit, &str); 7] = [
    ([0, 0, 0, 0, 0, 0], CheckUnit::Number, "a number"),
    ([1, 0, 0, 0, 0, 0], CheckUnit::Ns, "a time"),
    ([0, 1, 0, 0, 0, 0], CheckUnit::BytesPerSecond, "a rate"),
    ([0, 0, 1, 0, 0, 0], CheckUnit::TransfersPerSecond, "a number of transfers"),
    ([0, 0, 0, 1, 0, 0], CheckUnit::Bytes, "an amount of memory"),
    ([0, 0, 0, 0, 1, 0], CheckUnit::Hz, "a clock"),
    ([0, 0, 0, 0, 0, 1], CheckUnit::Text, "a text"),
];

/// The unit of both sides.
fn common_unit<N: Named>(left: &Side<N>, right: &Side<N>) -> Result<CheckUnit, Note> {
    let kind = |powers: Powers| KINDS.iter().find(|(of, ..)| *of == powers);
    let (zeros, mut left, mut right) = ([left.is_zero(), right.is_zero()], left.powers(), right.powers());
    // Nothing is nothing in every unit; a text has no amount.
    let is_amount = |powers: Powers| kind(powers).is_some_and(|(_, unit, _)| *unit != CheckUnit::Text);
    match zeros {
        [true, false] if is_amount(right) => left = right,
        [false, true] if is_amount(left) => right = left,
        _ => {}
    }
    match kind(left).filter(|_| left == right) {
        Some((_, unit, _)) => Ok(*unit),
        None => {
            let name = |powers| kind(powers).map_or("a product of units", |(.., name)| name);
            Err(says::units_differ(name(left), name(right)))
        }
    }
}

impl<N: Named> Side<N> {
    /// Whether it is the number 0 without a unit.
    fn is_zero(&self) -> bool {
        matches!(self.first, Operand::Number(value, CheckUnit::Number) if value == 0.0) && self.rest.is_empty()
    }

    fn powers(&self) -> Powers {
        let mut sum = self.first.powers();
        for (sign, operand) in &self.rest {
            let factor = if *sign == Sign::Times { 1 } else { -1 };
            sum.iter_mut().zip(operand.powers()).for_each(|(sum, power)| *sum += factor * power);
        }
        sum
    }
}

impl<N: Named> Operand<N> {
    fn powers(&self) -> Powers {
        let unit = match self {
            Self::Number(_, unit) => *unit,
            Self::Name(name) => name.unit(),
        };
        KINDS.iter().find(|(_, of, _)| *of == unit).map_or([0; 6], |(powers, ..)| *powers)
    }
}

/// What a comparison can name.
pub trait Named: Sized {
    /// The name in a text, which begins at a character of the comparison.
    ///
    /// # Errors
    /// What is wrong with it, with the nearest name.
    fn read(text: &str, at: usize) -> Result<Self, Note>;

    /// Unit of its numbers.
    fn unit(&self) -> CheckUnit;

    /// Whether it stands for nothing but itself, as a text between quotes does.
    fn is_literal(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tiermark_model::Code;

    use super::*;
    use crate::names;

    fn fault(text: &str) -> (Code, Option<u64>) {
        let note = Expectation::parse(text).unwrap_err();
        (note.code.clone(), note.data.get("at").and_then(|at| at.as_u64()))
    }

    #[test]
    fn expectations_of_the_issue_are_read() {
        for (text, unit) in [
            ("read.dram.all >= 0.75 x peak", CheckUnit::BytesPerSecond),
            ("latency.dram.remote / latency.dram.local <= 2.2", CheckUnit::Number),
            ("edac.corrected <= 0", CheckUnit::Number),
            ("read.dram.all > 0", CheckUnit::BytesPerSecond),
            ("0 < latency.dram", CheckUnit::Ns),
            ("dimms.speed >= rated", CheckUnit::TransfersPerSecond),
            ("latency.l3 ≤ 20 ns", CheckUnit::Ns),
            ("120 ns > latency.dram", CheckUnit::Ns),
            ("read.dram.one<12.5GB/s", CheckUnit::BytesPerSecond),
            ("pages.huge >= 95 %", CheckUnit::Number),
            ("channels.populated == channels", CheckUnit::Number),
            ("memory.total != 512 GiB", CheckUnit::Bytes),
            ("kernel == \"6.8.0-45-generic\"", CheckUnit::Text),
            ("\"never\" ≠ thp", CheckUnit::Text),
        ] {
            let read = Expectation::parse(text).unwrap_or_else(|note| panic!("{text}: {note}"));
            assert_eq!((read.0.unit, read.0.text.as_str()), (unit, text));
        }
    }

    #[test]
    fn mistakes_name_the_character_and_the_cure() {
        use says::codes;
        assert_eq!(fault("latency.dram"), (codes::comparison_missing, None));
        assert_eq!(fault(""), (codes::operand_expected, Some(1)));
        assert_eq!(fault("latency.dram <= "), (codes::operand_expected, Some(17)));
        assert_eq!(fault("latency.dram <= 2 x"), (codes::operand_expected, Some(20)));
        assert_eq!(fault("latency.dram <= x 2"), (codes::operand_expected, Some(17)));
        assert_eq!(fault("latency.dram 2 <= 3"), (codes::operator_expected, Some(14)));
        assert_eq!(fault("1 <= edac.corrected <= 3"), (codes::comparison_twice, Some(21)));
        assert_eq!(fault("latency.dram <= 120"), (codes::units_differ, None));
        assert_eq!(fault("latency.dram x read.dram.all > 0"), (codes::units_differ, None));
        assert_eq!(fault("kernel == 0"), (codes::units_differ, None));
        assert_eq!(fault("latency.dram x read.dram.all <= 120 ns"), (codes::units_differ, None));
        assert_eq!(fault("latency.dram = 3 ns"), (codes::operator_expected, Some(14)));
        assert_eq!(fault("kernel <= \"6.8\""), (codes::text_not_calculated, None));
        assert_eq!(fault("2 x kernel == \"6.8\""), (codes::text_not_calculated, None));
        assert_eq!(fault("kernel == 6.8"), (codes::units_differ, None));
        assert_eq!(fault("kernel == \"6.8"), (codes::operand_expected, Some(11)));
        assert_eq!(fault("\"6.8\" == \"6.8\""), (codes::expectation_without_name, None));
        assert_eq!(fault(&"9 x ".repeat(20)), (codes::expectation_too_long, None));
        let said = Expectation::parse("read.dram.al >= 3 GB/s").unwrap_err().to_string();
        assert!(said.contains("character 1") && said.contains("did you mean 'read.dram.all'?"), "{said}");
    }

    proptest! {
        /// Words in any order: a mistake is at a character of the text, or just behind it.
        #[test]
        fn any_words_are_read_or_refused_where_they_are(
            words in proptest::collection::vec(
                "(latency\\.dram|read\\.dram\\.all|peak|kernel|\"6\"|<=|>=|==|x|/|\\*|≤|12|0\\.5|ns|GB/s|%|rated|[a-z.]{1,4})",
                0..12,
            )
        ) {
            let text = words.join(" ");
            if let Err(note) = Expectation::parse(&text) {
                let at = note.data.get("at").and_then(|at| at.as_u64()).unwrap_or(1);
                prop_assert!((1..=text.chars().count() as u64 + 1).contains(&at), "{}: {}", text, note);
            }
        }

        #[test]
        fn products_of_one_unit_compare(left in 0usize..600, right in 0usize..600, share in 0.01..10.0f64) {
            let all = names::all();
            let (left, right) = (&all[left % all.len()], &all[right % all.len()]);
            let unit = |name: &str| Name::parse(name, 1).unwrap().unit();
            let read = Expectation::parse(&format!("{left} >= {share} x {right}"));
            prop_assert_eq!(read.is_ok(), unit(left) == unit(right) && unit(left) != CheckUnit::Text);
        }
    }
}
