//! The page for a browser: by its commands, and in a browser, where every chart is drawn, every series toggles, and
//! nothing is wider than the window.

#![allow(clippy::unwrap_used, reason = "a test may fail; clippy knows only functions marked as tests")]

mod common;

use std::path::PathBuf;
use std::process::Command;

use common::User;
use serde_json::Value;

/// Two sockets: a picture with a link, matrices, curves.
const TWO: &str = "synth:sockets=2,cores=4,smt=2";

/// What the page does by itself, then by every button; the result goes to the page around it.
const PROBE: &str = r#"<script>
addEventListener("load", () => setTimeout(() => {
  const all = (what) => [...document.querySelectorAll(what)];
  all("details").forEach((part) => (part.open = true));
  const seen = (figure) => figure.querySelector("canvas").toDataURL();
  const blank = (canvas) => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return !new Uint32Array(data.buffer).some(Boolean);
  };
  const toggled = async (one) => {
    const figure = one.closest("figure");
    const before = seen(figure);
    one.focus();
    one.click();
    await new Promise((done) => setTimeout(done, 60));
    const pressed = one.getAttribute("aria-pressed");
    const moved = seen(figure) !== before && pressed === "false" && document.activeElement === one;
    one.click();
    await new Promise((done) => setTimeout(done, 60));
    return moved && one.getAttribute("aria-pressed") === "true";
  };
  // What a button saves, and whether it is a picture in vectors with all of its texts.
  const saved = [];
  HTMLAnchorElement.prototype.click = function () { saved.push(this.href); };
  const isPicture = (href) => {
    const text = decodeURIComponent(href.replace(/^data:image\/svg\+xml,/, ""));
    const picture = new DOMParser().parseFromString(text, "image/svg+xml");
    return !picture.querySelector("parsererror") && picture.querySelectorAll("path").length > 5
      && picture.querySelectorAll("text").length > 4 && !/NaN|undefined/.test(text);
  };
  setTimeout(async () => {
    all(".tools button").filter((one) => one.textContent === "Save SVG").forEach((one) => one.click());
    const buttons = all("button[data-series]");
    const states = [];
    for (const one of buttons) states.push(await toggled(one));
    parent.postMessage(JSON.stringify({
      figures: all("figure.chart, figure.map").length,
      drawn: all("figure[data-drawn=yes]").filter((figure) => !blank(figure.querySelector("canvas"))).length,
      charts: all("figure.chart").length,
      pictures: saved.filter(isPicture).length,
      buttons: buttons.length,
      toggled: states.filter(Boolean).length,
      unnamed: all("figure:not([aria-label]), table:not(:has(caption)), .plot:not([aria-label])").length,
      wide: Math.max(0, document.documentElement.scrollWidth - innerWidth),
      width: innerWidth,
    }), "*");
  }, 300);
}, 100));
</script>"#;

/// A page in a frame of some width: windows of a browser have a least one.
fn framed(page: &str, width: usize) -> String {
    format!(
        "<!doctype html><title>frame</title><body style=\"margin:0\">\
         <iframe src=\"{page}\" width=\"{width}\" height=\"2400\" \
         style=\"border:0\"></iframe><p id=\"result\"></p><script>addEventListener('message', \
         (event) => document.getElementById('result').textContent = 'RESULT' + event.data + 'END')</script>"
    )
}

fn chromium(arguments: &[&str]) -> (String, String) {
    let fixed =
        ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--enable-logging=stderr", "--v=0"];
    let out = Command::new("chromium").args(fixed).args(arguments).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&out.stdout), text(&out.stderr))
}

/// What the probe found on a page at a width. A picture of it is written where `TIERMARK_SCREENSHOTS` says.
fn probed(user: &User, page: &str, width: usize) -> Value {
    let html = std::fs::read_to_string(user.path(page)).unwrap();
    let probe = user.path(&format!("probe-{page}"));
    std::fs::write(&probe, html.replace("</body>", &format!("{PROBE}</body>"))).unwrap();
    let frame = user.path(&format!("frame-{width}-{page}"));
    std::fs::write(&frame, framed(&format!("probe-{page}"), width)).unwrap();
    let url = |path: &PathBuf| format!("file://{}", path.display());
    let (dom, log) = chromium(&["--window-size=1700,2500", "--virtual-time-budget=20000", "--dump-dom", &url(&frame)]);
    let said: Vec<&str> = log.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert!(said.is_empty(), "{page} at {width}: {said:?}");
    if let Some(directory) = std::env::var_os("TIERMARK_SCREENSHOTS") {
        let picture = PathBuf::from(directory).join(format!("{page}-{width}.png"));
        chromium(&["--window-size=1700,2500", &format!("--screenshot={}", picture.display()), &url(&frame)]);
    }
    let found = dom.split_once("RESULT{").and_then(|(_, rest)| rest.split_once("}END")).map(|(found, _)| found);
    serde_json::from_str(&format!("{{{}}}", found.unwrap_or_else(|| panic!("{page}: {dom}")))).unwrap()
}

#[test]
fn saved_runs_make_a_page() {
    let user = User::new();
    let read = |name: &str| std::fs::read_to_string(user.path(name)).unwrap();
    user.run(&["matrix", "--quick", "--simulate", TWO, "--html", "own.html"]).expect(0);
    let own = read("own.html");
    assert!(own.starts_with("<!doctype html>") && own.contains("<svg") && own.contains("Idle latency, ns"), "{own}");
    // The same, from the saved document; several documents, by file and by name.
    user.run(&["report", "--html", "last.html"]).expect(0);
    assert_eq!(read("last.html"), own);
    user.run(&["latency", "--sizes", "32K", "--quick", "--simulate", TWO, "--no-save", "--json=other.json"]).expect(0);
    let both = user.run(&["report", "last", "other.json", "--html", "-"]).expect(0).out;
    assert!(
        both.contains("id=\"sheet-1\"") && both.contains("tiermark matrix of") && both.contains("tiermark latency of")
    );
    assert!(own.contains("<dd>synthetic</dd>"), "{own}");
    assert!(!user.run(&["report", "--redact", "--html", "-"]).expect(0).out.contains("<dd>synthetic</dd>"));
    let iec = user.run(&["report", "--units", "iec", "--html", "-"]).expect(0).out;
    assert!(iec.contains("Bandwidth, read, GiB/s"), "{iec}");
}

#[test]
fn documents_of_every_kind_and_version_make_a_page() {
    let user = User::new();
    for document in
        ["history/tests/fixtures/run-1.json", "history/tests/fixtures/run-2.json", "../fuzz/seeds/capacity.json"]
    {
        let path = format!("{}/../{document}", env!("CARGO_MANIFEST_DIR"));
        let page = user.run(&["report", &path, "--html", "-"]).expect(0).out;
        assert!(page.contains("<h1 id=\"sheet-0-title\">tiermark ") && page.contains("<table"), "{document}: {page}");
    }
}

#[test]
fn a_page_that_cannot_be_made_leaves_the_file_as_it_is() {
    let user = User::new();
    let mine = "<!doctype html>mine";
    std::fs::write(user.path("kept.html"), mine).unwrap();
    let run = format!("{}/../history/tests/fixtures/run-2.json", env!("CARGO_MANIFEST_DIR"));
    std::fs::copy(run, user.path("run.json")).unwrap();
    let saved = std::fs::read(user.path("run.json")).unwrap();
    std::fs::write(user.path("broken.json"), "{").unwrap();
    for arguments in [
        &["report", "nothing.json", "--html", "kept.html"][..],
        &["report", "broken.json", "--html", "kept.html"],
        &["report", "last", "--html", "kept.html"],
        // The run is meant as a document, and would be lost.
        &["report", "--html", "run.json", "run.json"],
        &["report", "last", "--html", "missing/page.html"],
        &["report", "last"],
    ] {
        user.run(arguments).expect(2);
    }
    assert_eq!(std::fs::read_to_string(user.path("kept.html")).unwrap(), mine);
    assert_eq!(std::fs::read(user.path("run.json")).unwrap(), saved);
    let out = user.run(&["survey", "--simulate", TWO, "--json", "--html", "-"]).expect(2);
    assert!(out.err.contains("--html") && out.err.contains("--json"), "{}", out.err);
}

/// The changes between two runs, drawn and in tables.
#[test]
#[ignore = "needs chromium: apt-get install chromium; cargo test -p tiermark --test browser -- --ignored"]
fn a_comparison_is_a_page() {
    let user = User::new();
    for (name, seed) in [("a.json", "1"), ("b.json", "2")] {
        let json = format!("--json={name}");
        user.run(&["survey", "--quick", "--simulate", TWO, "--seed", seed, "--no-save", &json]).expect(0);
    }
    user.run(&["compare", "a.json", "b.json", "--html", "changes.html"]).expect(0);
    let page = std::fs::read_to_string(user.path("changes.html")).unwrap();
    assert!(page.contains("class=\"machine changes\"") && page.contains("class=\"even\""), "{page}");
    for width in [390, 1600] {
        let found = probed(&user, "changes.html", width);
        assert_eq!((&found["unnamed"], &found["wide"]), (&Value::from(0), &Value::from(0)), "{found}");
    }
}

#[test]
#[ignore = "needs chromium: apt-get install chromium; cargo test -p tiermark --test browser -- --ignored"]
fn charts_are_drawn_and_toggle_at_all_widths() {
    let user = User::new();
    for (command, machine) in [
        (&["survey"][..], TWO),
        (&["latency", "--layout", "random,stride:64", "--sizes", "4K,32K,256K,2M,16M"], TWO),
        (&["loaded-latency", "--quick", "--target-ns", "200"], TWO),
        (&["matrix", "--quick"], TWO),
        (&["c2c", "--quick"], "synth:sockets=2,cores=32,smt=1"),
        // With the published figures beside.
        (&["run", "numa-latency"], TWO),
    ] {
        let page = format!("{}.html", if command[0] == "run" { command[1] } else { command[0] });
        user.run(&[command, &["--simulate", machine, "--no-save", "--html", &page]].concat()).expect(0);
        for width in [390, 1600] {
            let found = probed(&user, &page, width);
            assert_eq!(found["width"], width, "{page}");
            assert_eq!(found["drawn"], found["figures"], "{page} {found}");
            assert_eq!(found["toggled"], found["buttons"], "{page} {found}");
            assert_eq!(found["pictures"], found["charts"], "{page} {found}");
            assert_eq!((&found["unnamed"], &found["wide"]), (&Value::from(0), &Value::from(0)), "{page} {found}");
            let series = matches!(command[0], "survey" | "latency");
            assert!(command[0] == "matrix" || found["figures"].as_u64() > Some(0), "{page} {found}");
            assert!(!series || found["buttons"].as_u64() > Some(1), "{page} {found}");
        }
    }
}
