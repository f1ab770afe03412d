//! From rows to functions.

/// A sentence of a row.
macro_rules! sentence {
    ({ $($expression:tt)+ }) => { String::from({ $($expression)+ }) };
    ($text:literal) => { format!($text) };
}

/// The type of a row's message.
macro_rules! kind {
    (Rates) => {
        $crate::Note
    };
    ($kind:ident) => {
        $crate::$kind
    };
}

/// The sentence of a row with rates once more, from the data of a message with its code.
macro_rules! in_unit {
    (Rates $name:ident($($datum:ident: $type:ty),*): $sentence:tt, $note:expr, $unit:expr) => {
        if $note.code == codes::$name {
            $(let $datum = {
                let datum = $note.data.get(stringify!($datum))?;
                $crate::messages::in_unit::InUnit::in_unit(<$type as serde::Deserialize>::deserialize(datum).ok()?, $unit)
            };)*
            return Some($crate::messages::rows::sentence!($sentence));
        }
    };
    ($kind:ident $($rest:tt)*) => {};
}

/// The messages of a module, and their codes. A row begins with its type:
///
/// * `Refusal`: the thing refused, the reason, the cure. `options […]` lists the options of this program that the cure
///   names; `options (…)` is an expression where that depends on the data.
/// * `Warning`: the state, its effect on the numbers, the cure (empty: none).
/// * `Cure`: one sentence, with `options` as a refusal has them.
/// * `Note`: one sentence.
/// * `Rates`: a note whose sentence has rates, so that it can be made again in the unit of its reader.
macro_rules! messages {
    ($($(#[$doc:meta])* $kind:ident $name:ident($($datum:ident: $type:ty),* $(,)?) $(options $options:tt)?:
        $($sentence:tt),+;)+) => {
        $($(#[$doc])*
        #[allow(missing_docs, reason = "its sentences say it")]
        #[allow(clippy::needless_pass_by_value, clippy::useless_format, reason = "some sentences are without data")]
        #[allow(unused_parens, reason = "options are a list, or an expression in parentheses")]
        pub fn $name($($datum: $type),*) -> $crate::messages::rows::kind!($kind) {
            let data = [$((stringify!($datum).to_owned(), serde_json::to_value(&$datum).unwrap_or_default())),*];
            let sentences = [$($crate::messages::rows::sentence!($sentence)),+];
            <$crate::messages::rows::kind!($kind)>::from_row(codes::$name, data.into(), sentences)$(.with_options($options))?
        })+

        /// The sentence of a note of this module with its rates in `unit`; `None` for other notes, or without rates.
        #[allow(dead_code, unused_variables, reason = "most modules have no rates")]
        pub(super) fn in_unit(note: &$crate::Note, unit: $crate::RateUnit) -> Option<String> {
            $($crate::messages::rows::in_unit!($kind $name($($datum: $type),*): $($sentence),+, note, unit);)+
            None
        }

        /// The codes of these messages.
        #[allow(missing_docs, reason = "the messages say it")]
        #[allow(non_upper_case_globals, reason = "a code has the name of its message")]
        pub mod codes {
            $(pub const $name: $crate::Code = $crate::Code::new(stringify!($name));)+
            /// All of them.
            pub const ALL: &[$crate::Code] = &[$($name),+];
        }
    };
}

pub(super) use {in_unit, kind, messages, sentence};
