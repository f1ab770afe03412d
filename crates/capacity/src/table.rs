//! Tables of a scenario file: one definition makes the type that the parser fills, and the reference for those who
//! write the file.

/// A key of a table, as its definition describes it.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// The field's name; in files it has dashes.
    pub(crate) field: &'static str,
    /// The meaning of the key: the lines of its doc comment, which `help scenario` prints.
    pub(crate) about: &'static [&'static str],
    /// How its value is written, with the unit.
    pub(crate) form: &'static str,
    /// The least and the most that it may be; of a size in bytes, of a list each number of it. `None` for a key that is
    /// no number, and where any number is right.
    pub(crate) range: Option<(f64, f64)>,
}

impl Key {
    /// The range that a definition states; `None` if it states none.
    pub(crate) const fn only(ranges: &[(f64, f64)]) -> Option<(f64, f64)> {
        match ranges {
            [range] => Some(*range),
            _ => None,
        }
    }
}

/// Defines a table. After the type of a key stands how its value is written, then its least and its most, then
/// attributes for serde.
macro_rules! table {
    (
        $(#[doc = $of:literal])+
        $name:ident $(, $attribute:meta)* {
            $( $(#[doc = $about:literal])+ $key:ident: $type:ty = $form:tt $(in $least:tt to $most:expr)? $(, $serde:meta)* ; )+
        }
    ) => {
        $(#[doc = $of])+
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(deny_unknown_fields, rename_all = "kebab-case")]
        $(#[$attribute])*
        pub struct $name {
            $( $(#[doc = $about])+ $(#[$serde])* pub $key: $type, )+
        }

        impl $name {
            /// The keys of this table.
            pub(crate) const KEYS: &'static [$crate::table::Key] = &[
                $( $crate::table::Key {
                    field: stringify!($key),
                    about: &[$($about),+],
                    form: $form,
                    range: $crate::table::Key::only(&[$(($least, $most))?]),
                } ),+
            ];
        }
    };
}

pub(crate) use table;
