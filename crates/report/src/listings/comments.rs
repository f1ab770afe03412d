//! Comments below a file that is shown, which keep remarks with the file.

use tiermark_page::{Style, Text, wrap};

/// Sections of comments: each a heading, and lines below it. All lines begin with `#`, and none is longer than the
/// style has columns.
pub fn comments(sections: &[(String, Vec<String>)], style: &Style) -> String {
    let mut out = String::new();
    let mut say = |first: &str, then: &str, text: &str| {
        let columns = style.columns().saturating_sub(then.len()).max(20);
        for (at, line) in wrap(&Text::from(text).shown(style), columns).iter().enumerate() {
            out.push_str(&format!("{}{line}\n", if at == 0 { first } else { then }));
        }
    };
    for (title, lines) in sections.iter().filter(|(_, lines)| !lines.is_empty()) {
        say("# ", "# ", title);
        lines.iter().for_each(|line| say("#   ", "#     ", line));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_comment_and_fits() {
        let long = "a zram device of 2 GiB, as a swap area; what it takes is of that memory".to_owned();
        let sections = [("Made:".to_owned(), vec![long.clone(), "short".to_owned()]), ("None:".to_owned(), Vec::new())];
        let wide = comments(&sections, &Style::default());
        assert_eq!(wide, format!("# Made:\n#   {long}\n#   short\n"));
        for width in 40..75 {
            let narrow = comments(&sections, &Style { width, ..Style::default() });
            assert!(narrow.lines().all(|line| line.starts_with('#') && line.chars().count() <= width), "{narrow}");
            assert!(narrow.contains("\n#     "), "what goes on is further in: {narrow}");
        }
    }
}
