use super::*;
use crate::block::plot_over;
use crate::plot::ROWS;
use crate::span::Text;
use crate::terminal::terminal;
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
    let marks = vec![(32.0 * KIB, "L1".to_owned()), (1024.0 * KIB, "L2".to_owned())];
    let drawing = Plot { unit: "ns".into(), log_y: true, series: vec![ladder()], marks, rows: ROWS, ..Plot::default() };
    insta::assert_snapshot!(plot(&drawing, &Style { width: 60, ..Style::default() }));
    let two = vec![
        ladder(),
        Series { name: "stride:64".into(), points: vec![(4.0 * KIB, 1.4), (65536.0 * KIB, 3.0)], ..Series::default() },
    ];
    let drawing = Plot { unit: "ns".into(), log_y: true, series: two, rows: ROWS, ..Plot::default() };
    insta::assert_snapshot!(plot(&drawing, &Style { width: 60, unicode: false, ..Style::default() }));
}

#[test]
fn no_line_goes_through_a_point_that_has_no_value() {
    let drawn = |refused: f64| {
        let points =
            vec![(4.0 * KIB, 1.0), (8.0 * KIB, 2.0), (64.0 * KIB, refused), (512.0 * KIB, 2.0), (1024.0 * KIB, 3.0)];
        let plot = Plot { series: vec![Series { points, ..Series::default() }], rows: 4, ..Plot::default() };
        (plot.strokes()[0].len(), super::plot(&plot, &Style::default()))
    };
    let ((whole, line), (parts, broken)) = (drawn(2.0), drawn(crate::plot::NO_VALUE));
    assert_eq!((whole, parts), (1, 2));
    let inked = |text: &str| text.chars().filter(|sign| ('\u{2801}'..='\u{28ff}').contains(sign)).count();
    assert!(inked(&broken) < inked(&line), "{broken}{line}");
}

#[test]
fn a_loaded_curve_turns_back_where_it_is_overloaded() {
    let points = vec![(0.0, 95.0), (60.0, 98.0), (120.0, 104.0), (160.0, 118.0), (190.0, 240.0), (180.0, 300.0)];
    let series = vec![Series { name: "read".into(), points, ..Series::default() }];
    let drawing = Plot { unit: "ns".into(), series, rows: ROWS, ..Plot::default() };
    insta::assert_snapshot!(terminal(&plot_over(drawing, "GB/s"), &Style { width: 60, ..Style::default() }));
}

/// The scale of one curve.
fn scale(points: Vec<(f64, f64)>, abscissa: Abscissa, log_y: bool, columns: usize) -> Scale {
    let x_unit = (abscissa == Abscissa::Linear).then(Text::default);
    let series = vec![Series { points, ..Series::default() }];
    let plot = Plot { x_unit, log_y, series, rows: ROWS, ..Plot::default() };
    Scale::new(&plot, &plot.drawable(), columns).unwrap()
}

#[test]
fn the_top_of_every_axis_has_its_number_and_no_room_is_lost() {
    for (least, most) in [(162.0, 175.0), (0.9, 151.0), (40.0, 43.3), (3.0, 806.0), (0.0, 20.2), (1.33, 85.0)] {
        for log_y in [true, false] {
            for abscissa in [Abscissa::Size, Abscissa::Linear] {
                let points = vec![(4.0, f64::max(least, 0.5)), (64.0, most)];
                let scale = scale(points, abscissa, log_y, 60);
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
    let axis = |points: Vec<(f64, f64)>| scale(points, Abscissa::Linear, false, 60);
    let scale = axis(vec![(0.0, 162.0), (20.0, 164.0), (40.0, 175.0)]);
    assert!(scale.dot(0.0, 162.0).1 >= scale.dot(40.0, 175.0).1 + 12, "{:?}", scale.y);
    // What is within a tenth stays within about half of the height.
    let scale = axis(vec![(0.0, 100.0), (20.0, 100.5), (40.0, 100.2)]);
    assert!(scale.dot(0.0, 100.0).1.abs_diff(scale.dot(20.0, 100.5).1) <= 3, "{:?}", scale.y);
}

#[test]
fn rising_values_never_draw_falling_lines() {
    let drawn = ladder().points;
    let scale = scale(drawn.clone(), Abscissa::Size, true, 50);
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
        let one = |name: &str| Series { name: name.into(), points: points.clone(), ..Series::default() };
        let (unit, marks, level) = ("ns".into(), vec![(KIB, "L1".into())], Some((1.0, "target".into())));
        let series = vec![one("a"), one("b")];
        let drawing = Plot { unit, log_y, series, marks, level, rows: ROWS, ..Plot::default() };
        let shown = crate::block::plot(drawing.clone()) + plot_over(drawing, "GB/s");
        let shown = terminal(&shown, &style);
        for line in shown.lines() {
            prop_assert!(width(line) <= columns, "{line}");
        }
    }
}
