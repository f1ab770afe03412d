//! Text as the shells of other systems write it: PowerShell writes UTF-16 or a mark in front of UTF-8 where output is
//! redirected to a file.

/// The same text in UTF-8, without a mark. Without one, UTF-16 shows by its first letter, which documents and
/// configuration files have in ASCII.
pub fn to_utf8(mut bytes: Vec<u8>) -> Vec<u8> {
    match *bytes {
        [0xef, 0xbb, 0xbf, ..] => drop(bytes.drain(..3)),
        [0xff, 0xfe, ..] => return of_utf16(&bytes[2..], u16::from_le_bytes),
        [0xfe, 0xff, ..] => return of_utf16(&bytes[2..], u16::from_be_bytes),
        [first, 0, ..] if first > 0 => return of_utf16(&bytes, u16::from_le_bytes),
        [0, second, ..] if second > 0 => return of_utf16(&bytes, u16::from_be_bytes),
        _ => {}
    }
    bytes
}

fn of_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Vec<u8> {
    let (pairs, _) = bytes.as_chunks::<2>();
    let letters = char::decode_utf16(pairs.iter().map(|pair| unit(*pair)));
    letters.map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER)).collect::<String>().into_bytes()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn utf16(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(bytes).collect()
    }

    proptest! {
        #[test]
        fn every_encoding_gives_the_same_text(text in "\\{[^\u{0}\u{feff}]{0,40}\\}(\r\n)?") {
            let plain = text.clone().into_bytes();
            prop_assert_eq!(to_utf8(plain.clone()), plain.clone());
            for bytes in [u16::to_le_bytes as fn(u16) -> [u8; 2], u16::to_be_bytes] {
                prop_assert_eq!(to_utf8(utf16(&text, bytes)), plain.clone());
                prop_assert_eq!(to_utf8(utf16(&format!("\u{feff}{text}"), bytes)), plain.clone());
            }
            prop_assert_eq!(to_utf8(format!("\u{feff}{text}").into_bytes()), plain);
        }

        #[test]
        fn any_bytes(bytes in any::<Vec<u8>>()) {
            let most = 2 * bytes.len();
            prop_assert!(to_utf8(bytes).len() <= most);
        }
    }
}
