//! What the kernel's own TCP is told, so that it is the profile it stands for.

use std::collections::BTreeMap;
use std::sync::Arc;

use handfast_core::{Bytes, Duration};
use handfast_scenario::Scheme;
use handfast_tcp::{Config, Frto, InitialWindow, Nagle, profile};

/// Profiles that are imitated elsewhere and the kernel itself in the lab.
const KERNELS: [&str; 4] = ["linux", "linux-reno", "linux-bbr", "rto-max"];

/// What a kernel makes of Ethernet's 1500 bytes; another size is set socket by socket.
pub(crate) const USUAL_MSS: u16 = 1460;

/// What one end's kernel is told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Of every socket: a namespace's default may not be set to one that the machine's administrator did not allow.
    pub(crate) congestion_control: &'static str,
    /// Of every socket: `TCP_NODELAY`.
    pub(crate) nodelay: bool,
    /// Of every socket: `TCP_USER_TIMEOUT` (RFC 5482).
    pub(crate) user_timeout: Option<Duration>,
    /// Path below `/proc/sys`, value.
    pub(crate) sysctls: BTreeMap<&'static str, String>,
    /// Metrics of routes, as in ip-route(8).
    pub(crate) route_metrics: BTreeMap<&'static str, u32>,
}

impl Settings {
    /// A kernel can be told both: congestion control is a matter of each flow.
    pub(crate) fn agree_with(&self, other: &Self) -> bool {
        (&self.sysctls, &self.route_metrics) == (&other.sysctls, &other.route_metrics)
    }
}

/// The two ends of a scheme's flows.
#[derive(Clone, Debug)]
pub(crate) struct Ends {
    /// [`None`]: our own endpoint.
    pub(crate) sender: Option<Settings>,
    pub(crate) receiver: Settings,
}

/// What the kernels of senders and receivers are told under a scheme.
///
/// # Errors
/// Where a kernel is to do what it cannot be told, or the receiver is none: one sentence.
pub(crate) fn ends(scheme: &Scheme) -> Result<Ends, String> {
    let explain = |role| move |why| format!("scheme `{}`: {role}: {why}", scheme.name);
    let is_kernel = |profile| KERNELS.contains(&profile);
    if !is_kernel(scheme.receiver_profile) {
        let names = KERNELS.map(|name| format!("`{name}`")).join(", ");
        let why = format!("receivers in the lab are kernels ({names}), not `{}`", scheme.receiver_profile);
        return Err(explain("receiver")(why));
    }
    let receiver = end(&scheme.receiver, scheme.receiver_profile).map_err(explain("receiver"))?;
    let sender =
        is_kernel(scheme.sender_profile).then(|| end(&scheme.sender, scheme.sender_profile)).transpose();
    Ok(Ends { sender: sender.map_err(explain("sender"))?, receiver })
}

fn end(config: &Arc<Config>, name: &str) -> Result<Settings, String> {
    let base = profile(name).map(handfast_tcp::Profile::config).unwrap_or_default();
    if let Some(key) = beyond_the_kernel(config, &base) {
        return Err(format!("no setting of the kernel stands for `{key}`"));
    }
    let Some(congestion_control) = config.congestion_control.kernel() else {
        let word = config.congestion_control.word();
        return Err(format!(
            "not every kernel has the congestion control `{word}`, so the lab does not run it"
        ));
    };
    let mut settings = Settings {
        congestion_control,
        nodelay: config.nagle == Nagle::Off,
        user_timeout: config.user_timeout,
        sysctls: common(),
        route_metrics: BTreeMap::new(),
    };
    tcp(config, &base, &mut settings);
    Ok(settings)
}

/// The same for all profiles: this kernel's defaults, written down so that the machine's own settings change no result.
fn common() -> BTreeMap<&'static str, String> {
    let fixed = [
        // What one run learns of a path must not help the next.
        ("net/ipv4/tcp_no_metrics_save", "1"),
        ("net/ipv4/tcp_mtu_probing", "0"),
        ("net/ipv4/tcp_fastopen", "0"),
        ("net/ipv4/tcp_recovery", "1"),
        ("net/ipv4/tcp_early_retrans", "3"),
        ("net/ipv4/tcp_reordering", "3"),
        ("net/ipv4/tcp_moderate_rcvbuf", "1"),
        ("net/ipv4/tcp_autocorking", "1"),
        ("net/ipv4/tcp_thin_linear_timeouts", "0"),
    ];
    fixed.into_iter().map(|(path, value)| (path, value.to_owned())).collect()
}

/// Clears what [`tcp`] sets; the name of what still differs from the profile.
fn beyond_the_kernel(config: &Config, base: &Config) -> Option<String> {
    let told = Config {
        mss: base.mss,
        congestion_control: base.congestion_control,
        eifel: base.eifel,
        frto: base.frto,
        nagle: if config.nagle == Nagle::Off { base.nagle } else { config.nagle },
        initial_window: base.initial_window,
        timestamps: base.timestamps,
        sack: base.sack,
        ecn: base.ecn,
        window_scaling: base.window_scaling,
        cwnd_validation: base.cwnd_validation,
        rto_min: base.rto_min,
        rto_variance_min: base.rto_variance_min,
        rto_max: base.rto_max,
        syn_retries: base.syn_retries,
        data_retries: base.data_retries,
        send_buffer: base.send_buffer,
        receive_buffer: base.receive_buffer,
        user_timeout: base.user_timeout,
        ..config.clone()
    };
    let [told, base] = [format!("{told:#?}"), format!("{base:#?}")];
    let differing = told.lines().zip(base.lines()).find(|(a, b)| a != b);
    differing.map(|(line, _)| line.trim().split(':').next().unwrap_or_default().to_owned())
}

fn tcp(config: &Config, base: &Config, settings: &mut Settings) {
    let flag = |on: bool| u8::from(on).to_string();
    let retries = |n: u8| n.to_string();
    let sysctls = [
        ("net/ipv4/tcp_timestamps", flag(config.timestamps)),
        ("net/ipv4/tcp_sack", flag(config.sack)),
        ("net/ipv4/tcp_dsack", flag(config.sack)),
        ("net/ipv4/tcp_ecn", flag(config.ecn)),
        ("net/ipv4/tcp_window_scaling", flag(config.window_scaling)),
        ("net/ipv4/tcp_frto", if config.frto == Frto::Off { "0" } else { "2" }.to_owned()),
        ("net/ipv4/tcp_slow_start_after_idle", flag(config.cwnd_validation)),
        ("net/ipv4/tcp_syn_retries", retries(config.syn_retries)),
        ("net/ipv4/tcp_synack_retries", retries(config.syn_retries.min(5))),
        ("net/ipv4/tcp_retries2", retries(config.data_retries)),
        ("net/ipv4/tcp_rto_min_us", (config.rto_min.as_nanos() / 1_000).to_string()),
        ("net/ipv4/tcp_rto_max_ms", rto_max(config.rto_max)),
        ("net/ipv4/tcp_rmem", memory(131_072, buffer_for(config.receive_buffer))),
        ("net/ipv4/tcp_wmem", memory(16_384, config.send_buffer.get())),
    ];
    settings.sysctls.extend(sysctls);
    let route = &mut settings.route_metrics;
    if config.initial_window != base.initial_window {
        route.insert("initcwnd", initial_window(config));
    }
}

/// The kernel takes 1 to 120 s.
fn rto_max(longest: Duration) -> String {
    longest.as_millis().clamp(1_000, 120_000).to_string()
}

/// Least, initial and greatest size of a buffer.
fn memory(initial: u64, most: u64) -> String {
    let most = most.clamp(4_096, 1 << 30);
    format!("4096 {} {most}", initial.min(most))
}

/// The buffer of which a window takes what the kernel leaves of it: 158 of 256 parts, with full segments over a veth
/// (docs/reference/linux-profile.md).
fn buffer_for(window: Bytes) -> u64 {
    window.get().saturating_mul(256).div_ceil(158)
}

fn initial_window(config: &Config) -> u32 {
    match config.initial_window {
        InitialWindow::One => 1,
        // RFC 3390 §1: min(4 * MSS, max(2 * MSS, 4380 bytes)).
        InitialWindow::Rfc3390 => (4380 / u32::from(config.mss).max(1)).clamp(2, 4),
        InitialWindow::Ten => 10,
        InitialWindow::Segments(n) => n,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use handfast_plan::testing;
    use handfast_tcp::CongestionControl;

    fn with(change: impl FnOnce(&mut Config)) -> Result<[Settings; 2], String> {
        let mut scheme = testing::scheme("linux");
        change(Arc::make_mut(&mut scheme.sender));
        ends(&scheme).map(|ends| [ends.sender.expect("a kernel"), ends.receiver])
    }

    #[test]
    fn a_profile_as_it_is_gets_the_kernels_defaults() {
        let [sender, receiver] = with(|_| ()).unwrap();
        assert_eq!(sender, receiver);
        assert_eq!(sender.congestion_control, "cubic");
        let value = |path| sender.sysctls[path].as_str();
        assert_eq!(value("net/ipv4/tcp_rmem"), "4096 131072 33554432");
        assert_eq!(value("net/ipv4/tcp_rto_max_ms"), "120000");
        assert_eq!(value("net/ipv4/tcp_rto_min_us"), "200000");
        assert!(sender.route_metrics.is_empty());
    }

    #[test]
    fn the_congestion_control_is_the_profile_s_unless_the_scheme_says_otherwise() {
        let mut scheme = testing::scheme("linux-bbr");
        let told = |scheme: &Scheme| ends(scheme).unwrap().sender.unwrap();
        let [linux, _] = with(|_| ()).unwrap();
        assert_eq!(told(&scheme), Settings { congestion_control: "bbr", ..linux.clone() });
        Arc::make_mut(&mut scheme.sender).congestion_control = CongestionControl::Reno;
        assert_eq!(told(&scheme), Settings { congestion_control: "reno", ..linux });
        Arc::make_mut(&mut scheme.sender).congestion_control = CongestionControl::Westwood;
        let error = ends(&scheme).unwrap_err();
        assert!(error.contains("not every kernel has the congestion control `westwood`"), "{error}");
    }

    #[test]
    fn changes_become_settings() {
        let changed = with(|config| {
            config.timestamps = false;
            config.rto_max = Duration::from_secs(1);
            config.receive_buffer = Bytes(50_000);
            config.initial_window = InitialWindow::Rfc3390;
            config.user_timeout = Some(Duration::from_secs(5));
        });
        let [sender, receiver] = changed.unwrap();
        let value = |path| sender.sysctls[path].as_str();
        assert_eq!(value("net/ipv4/tcp_timestamps"), "0");
        assert_eq!(value("net/ipv4/tcp_rto_max_ms"), "1000");
        assert_eq!(value("net/ipv4/tcp_rmem"), "4096 81013 81013");
        assert_eq!(sender.route_metrics["initcwnd"], 3);
        assert_eq!(sender.user_timeout, Some(Duration::from_secs(5)));
        assert!(!sender.agree_with(&receiver));
    }

    #[test]
    fn what_a_kernel_cannot_be_told_is_named() {
        let error = with(|config| config.limited_transmit = !config.limited_transmit).unwrap_err();
        assert!(error.contains("`limited_transmit`") && error.contains("sender"), "{error}");
    }
}
