//! Text and data that cannot become markup.

/// A text between tags or in a quoted attribute.
#[must_use]
pub fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Overrides of the direction could show a text other than it is; the two before them end lines of scripts.
            '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => out.push('\u{fffd}'),
            c if c.is_control() && c != '\n' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// JSON inside of a `script` element: the same data, without a character that ends the element or a line of it.
pub(super) fn json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{7f}'..='\u{9f}' => {
                out.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_ends_its_element() {
        assert_eq!(
            text("<script>a&b</script>\"'\u{1}\u{202e}"),
            "&lt;script&gt;a&amp;b&lt;/script&gt;&quot;&#39;\u{fffd}\u{fffd}"
        );
        let data = serde_json::to_string("</script><!--\u{2028}&").unwrap();
        let safe = json(&data);
        assert!(!safe.contains(['<', '>', '&', '\u{2028}']), "{safe}");
        assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), "</script><!--\u{2028}&");
    }

    proptest! {
        #[test]
        fn any_text_stays_text(any in "\\PC{0,60}") {
            prop_assert!(!text(&any).contains(['<', '>', '"', '\'']));
            let safe = json(&serde_json::to_string(&any).unwrap());
            prop_assert!(!safe.contains('<'));
            prop_assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), any);
        }
    }
}
