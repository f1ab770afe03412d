//! The page of many hosts in a browser: tables sort, links unfold, names do not overlap, and nothing is wider than the
//! window. `TIERMARK_SCREENSHOTS=DIR` keeps the pages and pictures of them.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::html::fleet::{fleet, hostile, node, page};

/// What a reader does on the page; the result goes to the page around it.
const PROBE: &str = r##"<script>
addEventListener("load", () => setTimeout(() => {
  const all = (what, within = document) => [...within.querySelectorAll(what)];
  const link = document.querySelector("th a[href*=host]");
  const target = document.getElementById(link.hash.slice(1));
  const wasFolded = !target.open;
  link.click();
  const rest = () => new Promise((done) => setTimeout(done, 100));
  const overlaps = (plane) => {
    const boxes = all("em", plane).map((one) => one.getBoundingClientRect());
    const isBefore = (a, b) => a.right <= b.left + 1 || a.bottom <= b.top + 2;
    const cross = (a, b) => !isBefore(a, b) && !isBefore(b, a);
    const outside = boxes.filter((box) => box.left < -1 || box.right > innerWidth + 1);
    return boxes.some((a, at) => boxes.slice(at + 1).some((b) => cross(a, b))) || outside.length > 0;
  };
  const number = (cell) => {
    const text = cell.querySelector("i")?.textContent ?? cell.textContent;
    return /\d/.test(text) ? Number.parseFloat(text.replace(/^[^\d+-]+/, "")) : null;
  };
  // Whether the numbers of a column rise, or fall, and cells without one come last.
  const isSorted = (table, column, isUp) => {
    const cells = [...table.tBodies[0].rows].map((row) => row.cells[column]);
    const values = cells.map((cell) => (cell ? number(cell) : null));
    const known = values.filter((value) => value !== null);
    const first = values.slice(0, known.length).every((value) => value !== null);
    return first && known.every((value, at) => at === 0 || (isUp ? known[at - 1] <= value : known[at - 1] >= value));
  };
  setTimeout(async () => {
    const hasUnfolded = wasFolded && target.open;
    all("details").forEach((part) => (part.open = true));
    await rest();
    // To sort thousands of cells by each column takes minutes.
    const COLUMNS = 5;
    let [columns, sorted, named] = [0, 0, 0];
    for (const table of all("table.sorts")) {
      const rows = table.tBodies[0].rows.length;
      [...table.tHead.rows[0].cells].slice(0, COLUMNS).forEach((head, column) => {
        columns += 1;
        const button = head.querySelector("button");
        button.focus();
        const ups = [0, 1].map(() => {
          button.click();
          const isUp = head.getAttribute("aria-sort") === "ascending";
          const isRight = !head.classList.contains("number") || isSorted(table, column, isUp);
          return isRight && table.tBodies[0].rows.length === rows ? isUp : null;
        });
        sorted += ups.includes(true) && ups.includes(false) && document.activeElement === button;
        named += all("[aria-sort]", table).length === 1;
      });
    }
    // The names stay where a table is scrolled to the side.
    const scrolled = all(".scroll").filter((one) => one.scrollWidth > one.clientWidth + 50);
    const stay = scrolled.filter((one) => {
      one.scrollLeft = 1e6;
      const cell = one.querySelector("tbody tr").cells[0].getBoundingClientRect();
      return one.scrollLeft > 40 && Math.abs(cell.left - one.getBoundingClientRect().left) < 2;
    });
    scrolled.forEach((one) => (one.scrollLeft = 0));
    parent.postMessage(JSON.stringify({
      hasUnfolded, columns, sorted, named,
      scrolled: scrolled.length,
      stay: stay.length,
      strips: all(".strip").length,
      empty: all(".strip").filter((one) => !one.querySelector("b, .dots[d^=M]")).length,
      overlapping: all(".plane").filter(overlaps).map((one) => one.textContent),
      unnamed: all("figure:not([aria-label]), table:not(:has(caption))").length,
      wide: Math.max(0, document.documentElement.scrollWidth - innerWidth),
      width: innerWidth,
    }), "*");
  }, 200);
}, 100));
</script>"##;

fn chromium(arguments: &[&str]) -> (String, String) {
    let fixed =
        ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--enable-logging=stderr", "--v=0"];
    let out = Command::new("chromium").args(fixed).args(arguments).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&out.stdout), text(&out.stderr))
}

/// What the probe found on a page at a width, in a frame: windows of a browser have a least width.
fn probed(folder: &Path, name: &str, html: &str, width: usize) -> Value {
    let framed = |file: &str, html: &str| {
        std::fs::write(folder.join(file), html).unwrap();
        let frame = folder.join(format!("frame-{width}-{file}"));
        let script = "addEventListener('message', (event) => document.getElementById('result').textContent = \
                      'RESULT' + event.data + 'END')";
        let frame_html = format!(
            "<!doctype html><title>frame</title><body style=\"margin:0\"><iframe src=\"{file}\" width=\"{width}\" \
             height=\"4000\" style=\"border:0\"></iframe><p id=\"result\"></p><script>{script}</script>"
        );
        std::fs::write(&frame, frame_html).unwrap();
        format!("file://{}", frame.display())
    };
    let probe = framed(&format!("probe-{name}.html"), &html.replace("</body>", &format!("{PROBE}</body>")));
    let (dom, log) = chromium(&["--window-size=1300,4100", "--virtual-time-budget=60000", "--dump-dom", &probe]);
    let said: Vec<&str> = log.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert!(said.is_empty(), "{name} at {width}: {said:?}");
    if std::env::var_os("TIERMARK_SCREENSHOTS").is_some() {
        let picture = folder.join(format!("{name}-{width}.png"));
        let page = framed(&format!("{name}.html"), html);
        chromium(&["--window-size=1300,4100", &format!("--screenshot={}", picture.display()), &page]);
    }
    let found = dom.split_once("RESULT{").and_then(|(_, rest)| rest.split_once("}END")).map(|(found, _)| found);
    serde_json::from_str(&format!("{{{}}}", found.unwrap_or_else(|| panic!("{name}: {dom}")))).unwrap()
}

#[test]
#[ignore = "needs chromium: apt-get install chromium; cargo test -p tiermark-report --test pure -- --ignored browser::"]
fn tables_sort_links_unfold_and_nothing_overlaps_at_all_widths() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = std::env::var_os("TIERMARK_SCREENSHOTS").map_or(temporary.path().to_owned(), PathBuf::from);
    let (narrow, all): (&[usize], &[usize]) = (&[400], &[400, 750, 1100]);
    let (few, many) = (fleet(120, node), fleet(1000, node));
    for (name, fleet, widths) in
        [("fleet", few, all), ("hostile", fleet(120, hostile), narrow), ("thousand", many, narrow)]
    {
        for width in widths.iter().copied() {
            let found = probed(&folder, name, &page(&fleet), width);
            let of = |key: &str| found[key].as_u64().unwrap();
            assert_eq!(of("width"), width as u64, "{name}");
            assert!(found["hasUnfolded"] == true && of("strips") > 40 && of("empty") == 0, "{name} {found}");
            assert!(of("columns") > 70 && of("sorted") == of("columns") && of("named") == of("columns"), "{found}");
            assert!(of("scrolled") > 0 && of("stay") == of("scrolled"), "{name} {width} {found}");
            assert_eq!(found["overlapping"], serde_json::json!([]), "{name} {width} {found}");
            assert_eq!((of("unnamed"), of("wide")), (0, 0), "{name} {width} {found}");
        }
    }
}
