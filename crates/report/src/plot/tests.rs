use super::*;
use proptest::prelude::*;

const KIB: f64 = 1024.0;

fn ladder() -> Series {
    let points = [(4.0, 1.4), (16.0, 1.4), (32.0, 1.4), (64.0, 4.0), (512.0, 4.2), (2048.0, 20.0), (65536.0, 98.0)];
    Series {
        name: "random thp".into(),
        points: points.iter().map(|&(k, v)| (k * KIB, v)).collect(),
        ..Series::default()
    }
}

#[test]
fn a_latency_ladder_looks_like_one() {
    let marks = [(32.0 * KIB, "L1".to_owned()), (1024.0 * KIB, "L2".to_owned())];
    let drawing = Plot { unit: "ns", log_y: true, series: &[ladder()], marks: &marks, level: None, rows: ROWS };
    insta::assert_snapshot!(plot(&drawing, &Style { width: 60, ..Style::default() }));
    let two = [
        ladder(),
        Series { name: "stride:64".into(), points: vec![(4.0 * KIB, 1.4), (65536.0 * KIB, 3.0)], ..Series::default() },
    ];
    let drawing = Plot { unit: "ns", log_y: true, series: &two, marks: &[], level: None, rows: ROWS };
    insta::assert_snapshot!(plot(&drawing, &Style { width: 60, unicode: false, ..Style::default() }));
}

#[test]
fn a_loaded_curve_turns_back_where_it_is_overloaded() {
    let points = vec![(0.0, 95.0), (60.0, 98.0), (120.0, 104.0), (160.0, 118.0), (190.0, 240.0), (180.0, 300.0)];
    let series = [Series { name: "read".into(), points, ..Series::default() }];
    let drawing = Plot { unit: "ns", log_y: false, series: &series, marks: &[], level: None, rows: ROWS };
    insta::assert_snapshot!(plot_over(&drawing, "GB/s", &Style { width: 60, ..Style::default() }));
}

#[test]
fn the_top_of_every_axis_has_its_number_and_no_room_is_lost() {
    for (least, most) in [(162.0, 175.0), (0.9, 151.0), (40.0, 43.3), (3.0, 806.0), (0.0, 20.2), (1.33, 85.0)] {
        for log_y in [true, false] {
            for abscissa in [Abscissa::Size, Abscissa::Linear] {
                let points = vec![vec![(4.0, f64::max(least, 0.5)), (64.0, most)]];
                let scale = Scale::new(&points, abscissa, log_y, (60, ROWS)).unwrap();
                let ticks = scale.y_ticks();
                let (top, row) = *ticks.iter().max_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
                assert!(row == 0 && top >= most && ticks.len() >= 2, "{least} {most} {log_y}: {ticks:?}");
                let used = scale.y_share(most);
                assert!(used > if log_y { 0.55 } else { 0.7 }, "{least} {most} {log_y}: {used}");
            }
        }
    }
}

#[test]
fn a_loaded_latency_that_hardly_rises_is_no_flat_line() {
    let points = vec![vec![(0.0, 162.0), (20.0, 164.0), (40.0, 175.0)]];
    let scale = Scale::new(&points, Abscissa::Linear, false, (60, ROWS)).unwrap();
    assert!(scale.dot(0.0, 162.0).1 >= scale.dot(40.0, 175.0).1 + 12, "{:?}", scale.y);
    // What is within a tenth stays within about half of the height.
    let noise = vec![vec![(0.0, 100.0), (20.0, 100.5), (40.0, 100.2)]];
    let scale = Scale::new(&noise, Abscissa::Linear, false, (60, ROWS)).unwrap();
    assert!(scale.dot(0.0, 100.0).1.abs_diff(scale.dot(20.0, 100.5).1) <= 3, "{:?}", scale.y);
}

#[test]
fn rising_values_never_draw_falling_lines() {
    let drawn = drawable(&ladder().points, true);
    let scale = Scale::new(std::slice::from_ref(&drawn), Abscissa::Size, true, (50, ROWS)).unwrap();
    let rows: Vec<usize> = drawn.iter().map(|&(x, y)| scale.dot(x, y).1).collect();
    assert!(rows.is_sorted_by(|a, b| a >= b), "{rows:?}");
    assert!(rows[0] > rows[6] + 20, "the ladder fills the height: {rows:?}");
    let ticks = scale.y_ticks();
    assert!(ticks.iter().any(|t| t.0 == 10.0) && ticks.len() >= 3, "{ticks:?}");
}

proptest! {
    #[test]
    fn any_points_fit_and_never_panic(
        points in prop::collection::vec((prop::num::f64::ANY, prop::num::f64::ANY), 0..20),
        columns in 40usize..140, log_y: bool, unicode: bool
    ) {
        let style = Style { width: columns, unicode, ..Style::default() };
        let series = [Series { name: "a".into(), points: points.clone(), ..Series::default() }, Series { name: "b".into(), points, ..Series::default() }];
        let drawing = Plot { unit: "ns", log_y, series: &series, marks: &[(KIB, "L1".into())], level: Some((1.0, "target".into())), rows: ROWS };
        let shown = plot(&drawing, &style) + &plot_over(&drawing, "GB/s", &style);
        for line in shown.lines() {
            prop_assert!(width(line) <= columns, "{line}");
        }
    }
}

/// A currency comes from a price file.
#[test]
fn a_unit_of_a_document_is_no_markup() {
    let points = vec![(1.0, 2.0), (2.0, 3.0)];
    let one = |name: &str| Series { name: name.to_owned(), points: points.clone(), ..Series::default() };
    let series = [one("a"), one("b")];
    let plot = Plot { unit: "EUR\n\u{1}x", log_y: false, series: &series, marks: &[], level: None, rows: ROWS };
    let out = plot_over(&plot, "tenants\n\u{3}y", &Style { markup: true, ..Style::default() });
    let marked = out.lines().filter(|line| line.starts_with(|c: char| c.is_control())).count();
    assert_eq!(marked, 1, "only the chart itself: {out:?}");
}
