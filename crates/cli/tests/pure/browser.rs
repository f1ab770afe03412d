//! The page for a browser: by its commands, and in a browser, where every chart is drawn, every series toggles, and
//! nothing is wider than the window.

use std::path::PathBuf;
use std::process::Command;

use crate::common::User;
use serde_json::Value;

/// Two sockets: a picture with a link, matrices, curves.
const TWO: &str = "synth:sockets=2,cores=4,smt=2";

/// What the page does by itself, then by every button, by dragging and by keys; the result goes to the page around it.
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
    // The cells of a large heat map are one image.
    const drawn = picture.querySelectorAll("path").length > 5 || picture.querySelector("image")?.getAttribute("href").length > 200;
    return !picture.querySelector("parsererror") && drawn
      && picture.querySelectorAll("text").length > 3 && !/NaN|undefined/.test(text);
  };
  // Without decoding it, which takes no time of the page: the signature, the size, and more than an empty picture has.
  const isPng = (href) => {
    const bytes = Uint8Array.from(atob(href.replace(/^data:image\/png;base64,/, "")), (c) => c.charCodeAt(0));
    const view = new DataView(bytes.buffer);
    const sides = [16, 20].map((at) => view.getUint32(at));
    return view.getUint32(0) === 0x89504e47 && sides.every((side) => side > 100) && bytes.length > 2000;
  };
  const rest = () => new Promise((done) => setTimeout(done, 60));
  const press = (figure, name) => [...figure.querySelectorAll(".tools button")].find((one) => one.textContent === name).click();
  // The picture in vectors has the ends of both axes.
  const picture = (figure) => {
    press(figure, "Save SVG");
    return saved.pop();
  };
  const ticks = (href) => decodeURIComponent(href).match(/text-anchor="end"[^>]*>[^<]*/g)?.join() ?? "";
  const drag = async (figure, from, to) => {
    const over = figure.querySelector(".u-over");
    const box = over.getBoundingClientRect();
    const send = (what, on, share) => on.dispatchEvent(new MouseEvent(what, {
      bubbles: true, button: 0, movementX: 1, movementY: 1, view: window,
      clientX: box.left + share * box.width, clientY: box.top + box.height / 2,
    }));
    send("mouseenter", over, from);
    send("mousemove", over, from);
    send("mousedown", over, from);
    send("mousemove", over, (from + to) / 2);
    send("mousemove", over, to);
    send("mouseup", document, to);
    send("mouseleave", over, to);
    await rest();
  };
  const key = async (figure, ...names) => {
    const plot = figure.querySelector(".plot");
    plot.focus();
    for (const name of names) plot.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true }));
    await rest();
  };
  // Whether a chart changes by zooming, and is as it was after that; whether the range of y follows.
  const zooms = async (figure) => {
    const whole = picture(figure);
    await drag(figure, 0.05, 0.4);
    const dragged = picture(figure);
    press(figure, "Reset zoom");
    await rest();
    const back = picture(figure);
    await key(figure, "+", "+");
    const near = picture(figure);
    await key(figure, "-");
    const far = picture(figure);
    // A point outside of the shown part comes into it.
    await key(figure, "+", "+", ...Array(60).fill("ArrowRight"));
    const moved = picture(figure);
    await key(figure, "0");
    const all = picture(figure);
    const differs = [dragged, near, far, moved].every((one) => one !== whole) && near !== far && moved !== near;
    return { works: differs && back === whole && all === whole, follows: ticks(dragged) !== ticks(whole) };
  };
  setTimeout(async () => {
    all(".tools button").filter((one) => one.textContent === "Save SVG").forEach((one) => one.click());
    const pictures = saved.splice(0).filter(isPicture).length;
    all(".tools button").filter((one) => one.textContent === "Save PNG").forEach((one) => one.click());
    const images = saved.splice(0).filter(isPng).length;
    const zoomed = [];
    for (const figure of all("figure.chart")) zoomed.push(await zooms(figure));
    const sheets = all(".sheet").map((one) => one.getBoundingClientRect());
    const buttons = all("button[data-series]");
    const states = [];
    for (const one of buttons) states.push(await toggled(one));
    parent.postMessage(JSON.stringify({
      figures: all("figure.chart, figure.map").length,
      drawn: all("figure[data-drawn=yes]").filter((figure) => !blank(figure.querySelector("canvas"))).length,
      charts: all("figure.chart").length,
      pictures,
      images,
      zoomed: zoomed.filter((one) => one.works).length,
      followed: zoomed.filter((one) => one.follows).length,
      beside: sheets.length > 1 && sheets.every((one) => one.top === sheets[0].top && one.width > 600),
      told: all(".plot").filter((one) => /\+ and - zoom/.test(one.getAttribute("aria-label"))).length,
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
    let (dom, log) = chromium(&["--window-size=1700,2500", "--virtual-time-budget=90000", "--dump-dom", &url(&frame)]);
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
    let told = user.run(&["report"]).expect(0).err;
    assert_eq!((read("tiermark.html"), told.contains("tiermark.html")), (own.clone(), true), "{told}");
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
fn documents_of_every_kind_make_a_page() {
    let user = User::new();
    for document in [
        "history/tests/fixtures/run-4.json",
        "history/tests/fixtures/run-4-measured.json",
        "../fuzz/seeds/capacity.json",
    ] {
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
    let run = format!("{}/../history/tests/fixtures/run-4.json", env!("CARGO_MANIFEST_DIR"));
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
#[ignore = "needs chromium: apt-get install chromium; cargo test -p tiermark --test pure -- --ignored browser::"]
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

/// Two documents stand side by side where there is room, and work alike.
#[test]
#[ignore = "needs chromium: apt-get install chromium; cargo test -p tiermark --test pure -- --ignored browser::"]
fn two_documents_stand_side_by_side() {
    let user = User::new();
    for (name, command) in [("a.json", "survey"), ("b.json", "latency")] {
        let json = format!("--json={name}");
        user.run(&[command, "--quick", "--simulate", TWO, "--no-save", &json]).expect(0);
    }
    user.run(&["report", "a.json", "b.json", "--html", "both.html"]).expect(0);
    for width in [390, 1600] {
        let found = probed(&user, "both.html", width);
        assert_eq!(found["beside"], width == 1600, "{found}");
        assert_eq!(found["drawn"], found["figures"], "{found}");
        assert_eq!(found["zoomed"], found["charts"], "{found}");
        assert_eq!((&found["unnamed"], &found["wide"]), (&Value::from(0), &Value::from(0)), "{found}");
    }
}

#[test]
#[ignore = "needs chromium: apt-get install chromium; cargo test -p tiermark --test pure -- --ignored browser::"]
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
            for (each, of) in [("pictures", "figures"), ("images", "figures"), ("zoomed", "charts"), ("told", "charts")]
            {
                assert_eq!(found[each], found[of], "{each} {page} {found}");
            }
            assert!(command[0] != "latency" || found["followed"].as_u64() > Some(0), "{page} {found}");
            assert_eq!((&found["unnamed"], &found["wide"]), (&Value::from(0), &Value::from(0)), "{page} {found}");
            let series = matches!(command[0], "survey" | "latency");
            assert!(command[0] == "matrix" || found["figures"].as_u64() > Some(0), "{page} {found}");
            assert!(!series || found["buttons"].as_u64() > Some(1), "{page} {found}");
        }
    }
}
