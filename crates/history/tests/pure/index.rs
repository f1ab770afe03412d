//! The index of run documents: whatever is in its files, the documents are the truth.

use std::cell::Cell;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use tiermark_history::{Index, Store};
use tiermark_model::*;

/// A store with an index, and the number of documents that were read for it.
struct Kept {
    home: tempfile::TempDir,
    store: Store,
    read: Cell<usize>,
}

fn run(at: usize) -> Run {
    let started = format!("2026-01-{:02}T00:00:00Z", at + 1);
    Run { id: format!("run-{at}"), started, simulated: None, ..crate::common::example_run() }
}

/// One figure whose value is the number of the run.
fn figures(of: &Run) -> RunFigures {
    let value = of.id.trim_start_matches("run-").parse::<f64>().unwrap_or(0.0) + 1.0;
    let figure = RunFigure {
        key: "key".into(),
        name: None,
        probe: "survey".into(),
        quantity: Quantity::Latency,
        labels: Labels::new().with_purpose(Purpose::Ladder),
        unit: Unit::Ns,
        method: 1,
        value,
        interval: None,
        per_cycle: None,
        grade: Grade::Trusted,
        is_open: false,
        is_middle: None,
        state: None,
        pings: Some([1.0, 2.0]),
        cpus: None,
        rivals: Vec::new(),
    };
    RunFigures { figures: vec![figure], facts: vec![(Fact::Kernel, Some("6.1".into()))] }
}

impl Kept {
    fn new(runs: usize) -> Self {
        let home = tempfile::tempdir().unwrap();
        let store = Store::at(home.path().join("runs"));
        (0..runs).for_each(|at| drop(store.save(&run(at)).unwrap()));
        Self { home, store, read: Cell::new(0) }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// Ids with the values of their figures, and how many documents were read.
    fn opened(&self) -> (Vec<(String, f64)>, usize) {
        self.read.set(0);
        let describe = |run: &Run| {
            self.read.set(self.read.get() + 1);
            (GradeCounts::of([Grade::Trusted]), figures(run))
        };
        let index = Index::open(&self.store, &describe, |_, _| ()).unwrap();
        let value = |head| index.figures(head).figures.first().map_or(0.0, |figure| figure.value);
        let rows = index.heads().iter().map(|head| (head.id.clone(), value(head))).collect();
        (rows, self.read.get())
    }

    /// What an index of these runs holds, checked, with the number of documents that were read.
    #[track_caller]
    fn reads(&self, runs: &[usize]) -> usize {
        let (rows, read) = self.opened();
        let wanted: Vec<(String, f64)> = runs.iter().map(|at| (format!("run-{at}"), *at as f64 + 1.0)).collect();
        assert_eq!(rows, wanted);
        read
    }
}

const HEADS: &str = "index-6.jsonl";
const FIGURES: &str = "figures-6.jsonl";

#[test]
fn a_document_is_read_once() {
    let kept = Kept::new(3);
    assert_eq!(kept.reads(&[0, 1, 2]), 3);
    assert_eq!(kept.reads(&[0, 1, 2]), 0);
    kept.store.save(&run(3)).unwrap();
    assert_eq!(kept.reads(&[0, 1, 2, 3]), 1);
    // A run that was deleted is gone, and one that was changed is read again.
    fs::remove_file(kept.path("runs/run-1.json")).unwrap();
    let file = File::options().append(true).open(kept.path("runs/run-2.json")).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(100)).unwrap();
    assert_eq!(kept.reads(&[0, 2, 3]), 1);
    assert_eq!(kept.reads(&[0, 2, 3]), 0);
    Index::forget(&kept.store);
    assert_eq!(kept.reads(&[0, 2, 3]), 3);
}

#[test]
fn a_head_holds_what_a_list_needs() {
    let kept = Kept::new(1);
    let describe = |run: &Run| (GradeCounts::of([Grade::Trusted, Grade::Bound]), figures(run));
    for _ in 0..2 {
        let index = Index::open(&kept.store, &describe, |_, _| ()).unwrap();
        let head = &index.heads()[0];
        let run = run(0);
        assert_eq!((head.seconds, &head.title, head.complete), (run.seconds, &run.title, run.complete));
        assert_eq!((head.grades.trusted, head.grades.bound, head.headlines), (1, 1, 1));
        assert_eq!((&head.cpu, &head.version), (&run.machine.cpu_model.name, &run.tool.version));
        assert!(head.problem.is_none() && head.computer.is_some());
        assert_eq!(index.figures(head), figures(&run));
    }
}

#[test]
fn a_killed_writer_loses_nothing() {
    let kept = Kept::new(4);
    kept.reads(&[0, 1, 2, 3]);
    let [heads, figures] = [HEADS, FIGURES].map(|name| fs::read(kept.path(name)).unwrap());
    // Each line, and each byte of the last one: a writer appends figures first.
    for cut in (0..heads.len()).step_by(29) {
        fs::write(kept.path(HEADS), &heads[..cut]).unwrap();
        fs::write(kept.path(FIGURES), &figures).unwrap();
        kept.reads(&[0, 1, 2, 3]);
        assert_eq!(kept.reads(&[0, 1, 2, 3]), 0, "{cut}");
    }
    for cut in (0..figures.len()).step_by(397) {
        fs::write(kept.path(HEADS), &heads).unwrap();
        fs::write(kept.path(FIGURES), &figures[..cut]).unwrap();
        kept.reads(&[0, 1, 2, 3]);
        assert_eq!(kept.reads(&[0, 1, 2, 3]), 0, "{cut}");
    }
}

#[test]
fn damaged_figures_are_made_again_once() {
    let kept = Kept::new(3);
    kept.reads(&[0, 1, 2]);
    // As long as before, so that only the figures themselves show it.
    let text = fs::read_to_string(kept.path(FIGURES)).unwrap();
    fs::write(kept.path(FIGURES), text.replacen("\"figures\"", "\"figure?\"", 1)).unwrap();
    assert_eq!(kept.reads(&[0, 1, 2]), 1);
    assert_eq!(kept.reads(&[0, 1, 2]), 0);
}

#[test]
fn hostile_files_are_no_index() {
    let kept = Kept::new(2);
    kept.reads(&[0, 1]);
    let [heads, figures] = [HEADS, FIGURES].map(|name| fs::read_to_string(kept.path(name)).unwrap());
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let title = heads.lines().next().unwrap();
    let swapped = heads.replace("run-0.json", "run-9.json").replace("run-1.json", "run-0.json");
    let far = heads.replace("\"offset\":", "\"offset\":18446744073709551");
    for bad in [
        "not an index\n",
        "{\"schema\":\"tiermark/index/1\"}\n",
        &format!("{title}\n{deep}\n"),
        &format!("{title}\n{{\"stamp\":7}}\n"),
        &format!("{title}\n{}\n", "\"".repeat(9_000_000)),
        &heads.replace("\"bytes\":", "\"bytes\":1"),
        &heads.replace("true", "1e999"),
        &swapped,
        &far,
        "\u{0}\u{0}\n",
        "",
    ] {
        fs::write(kept.path(HEADS), bad).unwrap();
        fs::write(kept.path(FIGURES), &figures).unwrap();
        kept.reads(&[0, 1]);
        assert_eq!(kept.reads(&[0, 1]), 0, "{}", &bad[..bad.len().min(80)]);
    }
    // Figures of other runs, of the same length: their documents are read, whenever they are needed.
    fs::write(kept.path(HEADS), &heads).unwrap();
    fs::write(kept.path(FIGURES), figures.replace("run-0.json", "run-8.json")).unwrap();
    assert_eq!(kept.reads(&[0, 1]), 1);
    // Something else of that name.
    for name in [HEADS, FIGURES] {
        fs::remove_file(kept.path(name)).unwrap();
        fs::create_dir(kept.path(name)).unwrap();
        kept.reads(&[0, 1]);
        fs::remove_dir(kept.path(name)).unwrap();
    }
}

#[test]
fn a_document_that_cannot_be_read_is_remembered_too() {
    let kept = Kept::new(1);
    fs::write(kept.path("runs/torn.json"), "{\"schema\":").unwrap();
    let describe = |run: &Run| (GradeCounts::default(), figures(run));
    for _ in 0..2 {
        let index = Index::open(&kept.store, &describe, |_, _| ()).unwrap();
        let torn = index.heads().iter().find(|head| head.id == "torn").unwrap();
        assert!(torn.problem.is_some() && index.figures(torn) == RunFigures::default());
    }
}

#[test]
fn a_store_that_cannot_be_written_is_read() {
    let kept = Kept::new(2);
    // Root may write anywhere: the names are taken by directories.
    for name in [HEADS, FIGURES] {
        fs::create_dir(kept.path(name)).unwrap();
    }
    fs::set_permissions(kept.home.path(), fs::Permissions::from_mode(0o500)).unwrap();
    assert_eq!(kept.reads(&[0, 1]), 4, "for the heads, and for the figures");
    fs::set_permissions(kept.home.path(), fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn lines_of_documents_that_are_gone_are_removed() {
    let kept = Kept::new(2);
    kept.reads(&[0, 1]);
    for second in 0..80 {
        let file = File::options().append(true).open(kept.path("runs/run-1.json")).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000 + second)).unwrap();
        kept.reads(&[0, 1]);
    }
    let lines = fs::read_to_string(kept.path(HEADS)).unwrap().lines().count();
    assert!(lines < 75, "{lines}");
    assert_eq!(kept.reads(&[0, 1]), 0);
}

#[test]
fn several_readers_at_once_agree() {
    let kept = Kept::new(20);
    let all: Vec<usize> = (0..20).collect();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let store = kept.store.clone();
            scope.spawn(move || {
                let describe = |run: &Run| (GradeCounts::default(), figures(run));
                for at in 0..5 {
                    if at == 2 {
                        Index::forget(&store);
                    }
                    let index = Index::open(&store, &describe, |_, _| ()).unwrap();
                    assert_eq!(index.heads().len(), 20);
                    for (head, at) in index.heads().iter().zip(0..) {
                        assert_eq!(index.figures(head).figures[0].value, f64::from(at) + 1.0);
                    }
                }
            });
        }
    });
    kept.reads(&all);
    assert_eq!(kept.reads(&all), 0);
}
