use super::terminal;
use crate::block::{
    Fit, Page, beside, bullet, fitting, heading, if_narrow, labelled, paragraph, rule, space, variants,
};
use crate::html::html;
use crate::style::{Ink, Style};
use crate::table::Table;

fn shown(page: &Page) -> String {
    terminal(page, &Style::default())
}

fn text(text: &str) -> Page {
    paragraph("", text, Ink::Plain)
}

#[test]
fn escape_sequences_of_a_document_do_not_reach_the_terminal() {
    let page = bullet("!", Ink::Warn, "a\u{1b}[2Jb\r\nc", Some("cure"));
    assert_eq!(shown(&page), "  ! a\u{fffd}[2Jb\u{fffd} c\n    → cure\n");
    let ascii = Style { unicode: false, ..Style::default() };
    assert_eq!(terminal(&bullet("!", Ink::Warn, "a", Some("b")), &ascii), "  ! a\n    -> b\n");
}

#[test]
fn empty_lines_are_between_blocks_and_one_is_enough() {
    let page = space() + heading("A") + text("b") + space() + space() + heading("C") + text("d") + space();
    assert_eq!(shown(&page), "A\nb\n\nC\nd\n");
    assert!(shown(&(text("a") + rule() + text("b"))).starts_with("a\n━━━"));
}

/// A table of so many columns, of eight characters each.
fn table(columns: usize) -> Page {
    Table::of(&[()]).each(0..columns, |table, _| table.numbers("12345678", |()| "1")).table().whole().into()
}

#[test]
fn the_first_way_that_has_room_is_shown_and_what_is_left_out_is_said() {
    let page = fitting(vec![table(9), table(8), table(3)], Fit::WholeOrLess(2)) + if_narrow(text("less"));
    let heads = |width: usize| {
        let text = terminal(&page, &Style { width, ..Style::default() });
        (text.matches("12345678").count(), text.contains("less"))
    };
    assert_eq!([120, 82, 60, 40].map(heads), [(9, false), (8, false), (3, true), (3, true)]);
    let browser = html(&page, "s", &Style { width: 40, ..Style::default() });
    assert_eq!((browser.matches("12345678").count(), browser.contains("less")), (9, false), "{browser}");
}

#[test]
fn a_browser_shows_its_own_variant() {
    let page = variants(text("signs"), text("lines"));
    assert_eq!(shown(&page), "signs\n");
    assert!(html(&page, "s", &Style::default()).contains(">lines<"));
    assert_eq!(variants(text("same"), text("same")), text("same"));
}

#[test]
fn remarks_stand_below_their_rows_or_below_the_table_with_their_names() {
    let rows = [["cpus on different caches, 1 of 2 pairs", "50 to 430 ms"], ["shared", "1 s"]];
    let table = Table::of(&rows).texts("state", |row| row[0]).texts("lasts", |row| row[1]).table().indent(9);
    let page = beside("States", 9, table.remarked("then ", ["L3 10 ns".into(), "".into()]).into());
    insta::assert_snapshot!(shown(&page), @r"
    States   state                                   lasts
             cpus on different caches, 1 of 2 pairs  50 to 430 ms
               then L3 10 ns
             shared                                  1 s
    ");
    let narrow = terminal(&page, &Style { width: 50, ..Style::default() });
    assert!(narrow.trim_end().ends_with("L3 10 ns") && !narrow.contains("then"), "{narrow}");
    let browser = html(&page, "s", &Style::default());
    assert!(browser.contains("<b>States</b>") && browser.contains("1 of 2 pairs: L3 10 ns</p>"), "{browser}");
}

#[test]
fn a_label_stands_in_the_gutter_and_an_opening_is_painted_where_it_is_whole() {
    let page = labelled("nodes", "two") + labelled("", "more");
    assert_eq!(shown(&page), "nodes       two\n            more\n");
    let style = Style { color: true, ..Style::default() };
    let page = paragraph("", "all fine; and more", Ink::Plain).opened_by("all fine".into(), Ink::Good);
    assert_eq!(terminal(&page, &style), "\u{1b}[32mall fine\u{1b}[0m; and more\n");
}
