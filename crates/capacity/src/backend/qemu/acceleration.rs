//! How guests' processors are made.

/// By what guests run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Acceleration {
    /// The host's processor executes the guest.
    Kvm,
    /// Translated code.
    Tcg,
}

impl Acceleration {
    /// The emulator's arguments for it.
    pub(super) fn words(self) -> &'static [&'static str] {
        match self {
            Self::Kvm => &["-accel", "kvm", "-cpu", "host"],
            // Without "enhanced" string instructions, which are translated byte by byte.
            Self::Tcg => &["-accel", "tcg", "-cpu", "max,-erms"],
        }
    }

    /// The parameters of the guest's kernel.
    pub(super) fn kernel_line(self, khz: Option<u64>) -> String {
        // A tmpfs would hold half of the memory at most, which is less than a large agent with its libraries.
        let every = "console=ttyS0 quiet panic=-1 rootfstype=ramfs rdinit=/init";
        let clock = khz.map_or_else(String::new, |khz| format!(" tsc=reliable tsc_early_khz={khz}"));
        match self {
            Self::Kvm => every.to_owned(),
            // The time stamp counter is the host's; a guest that measures its frequency beside other work is wrong by
            // factors, and the check of the timer panics. System calls are several times faster without mitigations,
            // and a guest with one program needs none.
            Self::Tcg => format!("{every}{clock} no_timer_check mitigations=off"),
        }
    }
}

/// The frequency of the host's time stamp counter, kHz, from `/proc/cpuinfo`: the kernel's delay loop counts it twice a
/// cycle.
pub(super) fn khz(cpuinfo: &str) -> Option<u64> {
    let line = cpuinfo.lines().find(|line| line.starts_with("bogomips"))?;
    let value: f64 = line.split_once(':')?.1.trim().parse().ok()?;
    (value > 0.0 && value.is_finite()).then_some((value * 500.0) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn emulated_guests_are_told_the_clock() {
        assert_eq!(khz("processor\t: 0\nbogomips\t: 5200.00\nflags: a\n"), Some(2_600_000));
        assert_eq!(khz("bogomips : x\n"), None);
        assert_eq!(khz(""), None);
        assert!(Acceleration::Tcg.kernel_line(Some(7)).contains("tsc_early_khz=7 "));
        assert!(!Acceleration::Kvm.kernel_line(Some(7)).contains("tsc"));
    }
}
