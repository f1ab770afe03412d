//! From rows to functions.

/// A sentence of a row.
macro_rules! sentence {
    ({ $($expression:tt)+ }) => { String::from({ $($expression)+ }) };
    ($text:literal) => { format!($text) };
}

/// The messages of a room, and their codes. A row begins with its type: a `Refusal` (the thing refused, the reason, the
/// cure), a `Warning` (the state,
/// its effect on the numbers, the cure; empty: none) or a `Note` (one sentence).
macro_rules! messages {
    ($($(#[$doc:meta])+ $kind:ident $name:ident($($datum:ident: $type:ty),* $(,)?): $($sentence:tt),+;)+) => {
        $($(#[$doc])+
        #[allow(clippy::needless_pass_by_value, clippy::useless_format, reason = "some sentences are without data")]
        pub fn $name($($datum: $type),*) -> $crate::$kind {
            let data = [$((stringify!($datum).to_owned(), serde_json::to_value(&$datum).unwrap_or_default())),*];
            $crate::$kind::made(codes::$name, data.into(), [$($crate::messages::rows::sentence!($sentence)),+])
        })+

        /// The codes of these messages.
        #[allow(non_upper_case_globals, reason = "a code has the name of its message")]
        pub mod codes {
            $($(#[$doc])+ pub const $name: $crate::Code = $crate::Code::new(stringify!($name));)+
            /// All of them.
            pub const ALL: &[$crate::Code] = &[$($name),+];
        }
    };
}

pub(super) use {messages, sentence};
