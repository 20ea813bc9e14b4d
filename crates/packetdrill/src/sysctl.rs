//! What scripts set by `sysctl`: read when a socket is made, and the configuration that follows.
#![forbid(unsafe_code)]

use std::fs;
use std::path::Path;
use std::str::FromStr;

use handfast_core::{Bytes, Duration};
use handfast_tcp::{Config, CongestionControl, EcnOption, Frto, MtuProbing, Recovery, profile};

use crate::control;

/// Where the kernel has them.
const ROOT: &str = "/proc/sys/net";

/// What of a buffer counts as window, in 256ths, as profile `linux` has it.
const WINDOW_SHARE: u64 = 158;

/// `TCP_RTO_MIN`.
const RTO_MIN: Duration = Duration::from_millis(200);

/// The settings of a network namespace that the endpoint has rules for; `None` where the kernel's default holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// `tcp_rmem`, octets: the least, the first and the most of a receive buffer.
    pub rmem: Option<[u64; 3]>,
    /// `tcp_wmem`, octets: the same of a send buffer.
    pub wmem: Option<[u64; 3]>,
    /// `core/wmem_max`: the most that `SO_SNDBUF` asks for, octets.
    pub wmem_max: Option<u64>,
    /// `core/rmem_max`: the most that `SO_RCVBUF` asks for, octets.
    pub rmem_max: Option<u64>,
    /// `tcp_timestamps`.
    pub timestamps: Option<u64>,
    /// `tcp_sack`.
    pub sack: Option<u64>,
    /// `tcp_window_scaling`.
    pub window_scaling: Option<u64>,
    /// `tcp_ecn`: 1 asks for ECN and grants it, 2 grants it; 3 to 5 grant accurate ECN, and ask for that, for ECN, for nothing.
    pub ecn: Option<u64>,
    /// `tcp_ecn_fallback`: 0 asks again with every SYN, and trusts paths that change marks.
    pub ecn_fallback: Option<u64>,
    /// `tcp_ecn_option`: 0 never, 1 as seldom as is allowed, 2 always, 3 though it seems to be dropped on the way.
    pub ecn_option: Option<u64>,
    /// `tcp_ecn_option_beacon`: so often a round trip at least.
    pub ecn_option_beacon: Option<u8>,
    /// `tcp_shrink_window`.
    pub shrink_window: Option<u64>,
    /// `tcp_recovery`: whether RACK finds losses.
    pub recovery: Option<u64>,
    /// `tcp_early_retrans`: 3 and more send tail loss probes.
    pub early_retrans: Option<u64>,
    /// `tcp_frto`.
    pub frto: Option<u64>,
    /// `tcp_syn_retries`.
    pub syn_retries: Option<u8>,
    /// `tcp_synack_retries`.
    pub synack_retries: Option<u8>,
    /// `tcp_syn_linear_timeouts`.
    pub syn_linear_timeouts: Option<u8>,
    /// `tcp_retries2`.
    pub retries2: Option<u8>,
    /// `tcp_rto_min_us`.
    pub rto_min_us: Option<u64>,
    /// `tcp_rto_max_ms`.
    pub rto_max_ms: Option<u64>,
    /// `tcp_fin_timeout`, seconds.
    pub fin_timeout: Option<u64>,
    /// `tcp_slow_start_after_idle`.
    pub slow_start_after_idle: Option<u64>,
    /// `tcp_notsent_lowat`, octets.
    pub notsent_lowat: Option<u64>,
    /// `tcp_min_tso_segs`.
    pub min_tso_segs: Option<u64>,
    /// `tcp_pacing_ss_ratio`, percent.
    pub pacing_ss_ratio: Option<u64>,
    /// `tcp_pacing_ca_ratio`, percent.
    pub pacing_ca_ratio: Option<u64>,
    /// `tcp_keepalive_time`, seconds.
    pub keepalive_time: Option<u64>,
    /// `tcp_keepalive_intvl`, seconds.
    pub keepalive_interval: Option<u64>,
    /// `tcp_keepalive_probes`.
    pub keepalive_probes: Option<u8>,
    /// `tcp_mtu_probing`: 1 probes where a black hole is likely, 2 always.
    pub mtu_probing: Option<u64>,
    /// `tcp_base_mss`, octets.
    pub base_mss: Option<u16>,
    /// `tcp_mtu_probe_floor`, octets.
    pub mtu_probe_floor: Option<u16>,
    /// `tcp_probe_threshold`, octets.
    pub probe_threshold: Option<u16>,
    /// `tcp_probe_interval`, seconds.
    pub probe_interval: Option<u64>,
    /// `tcp_retries1`.
    pub retries1: Option<u32>,
    /// `ipv4/route/min_pmtu`, octets.
    pub min_pmtu: Option<u16>,
    /// The MTU of the tool's link, octets: no file of these has it.
    pub link_mtu: Option<u16>,
    /// `tcp_congestion_control`.
    pub congestion_control: Option<String>,
}

impl Settings {
    /// Those of the namespace that this process is in.
    pub fn of_this_namespace() -> Self {
        Self::read(Path::new(ROOT))
    }

    /// Those below a folder laid out as `/proc/sys/net` is. A file that is missing or says something else counts as not set.
    pub fn read(root: &Path) -> Self {
        let text = |name: &str| fs::read_to_string(root.join(name)).ok();
        let tcp = |name: &str| text(&format!("ipv4/tcp_{name}"));
        Self {
            rmem: tcp("rmem").and_then(|text| three(&text)),
            wmem: tcp("wmem").and_then(|text| three(&text)),
            wmem_max: text("core/wmem_max").and_then(|text| one(&text)),
            rmem_max: text("core/rmem_max").and_then(|text| one(&text)),
            timestamps: tcp("timestamps").and_then(|text| one(&text)),
            sack: tcp("sack").and_then(|text| one(&text)),
            window_scaling: tcp("window_scaling").and_then(|text| one(&text)),
            ecn: tcp("ecn").and_then(|text| one(&text)),
            ecn_fallback: tcp("ecn_fallback").and_then(|text| one(&text)),
            ecn_option: tcp("ecn_option").and_then(|text| one(&text)),
            ecn_option_beacon: tcp("ecn_option_beacon").and_then(|text| one(&text)),
            shrink_window: tcp("shrink_window").and_then(|text| one(&text)),
            recovery: tcp("recovery").and_then(|text| one(&text)),
            early_retrans: tcp("early_retrans").and_then(|text| one(&text)),
            frto: tcp("frto").and_then(|text| one(&text)),
            syn_retries: tcp("syn_retries").and_then(|text| one(&text)),
            synack_retries: tcp("synack_retries").and_then(|text| one(&text)),
            syn_linear_timeouts: tcp("syn_linear_timeouts").and_then(|text| one(&text)),
            retries2: tcp("retries2").and_then(|text| one(&text)),
            rto_min_us: tcp("rto_min_us").and_then(|text| one(&text)),
            rto_max_ms: tcp("rto_max_ms").and_then(|text| one(&text)),
            fin_timeout: tcp("fin_timeout").and_then(|text| one(&text)),
            slow_start_after_idle: tcp("slow_start_after_idle").and_then(|text| one(&text)),
            notsent_lowat: tcp("notsent_lowat").and_then(|text| one(&text)),
            min_tso_segs: tcp("min_tso_segs").and_then(|text| one(&text)),
            pacing_ss_ratio: tcp("pacing_ss_ratio").and_then(|text| one(&text)),
            pacing_ca_ratio: tcp("pacing_ca_ratio").and_then(|text| one(&text)),
            keepalive_time: tcp("keepalive_time").and_then(|text| one(&text)),
            keepalive_interval: tcp("keepalive_intvl").and_then(|text| one(&text)),
            keepalive_probes: tcp("keepalive_probes").and_then(|text| one(&text)),
            mtu_probing: tcp("mtu_probing").and_then(|text| one(&text)),
            base_mss: tcp("base_mss").and_then(|text| one(&text)),
            mtu_probe_floor: tcp("mtu_probe_floor").and_then(|text| one(&text)),
            probe_threshold: tcp("probe_threshold").and_then(|text| one(&text)),
            probe_interval: tcp("probe_interval").and_then(|text| one(&text)),
            retries1: tcp("retries1").and_then(|text| one(&text)),
            min_pmtu: text("ipv4/route/min_pmtu").and_then(|text| one(&text)),
            link_mtu: None,
            congestion_control: tcp("congestion_control").and_then(|text| one(&text)),
        }
    }

    /// Profile `linux` with these settings, for segments of `mss` octets. `passive`: for who is connected to.
    pub(crate) fn config(&self, mss: u16, passive: bool) -> Config {
        let base = profile("linux").map(handfast_tcp::Profile::config).unwrap_or_default();
        let on = |setting: Option<u64>, default: bool| setting.map_or(default, |value| value != 0);
        let retries = if passive { self.synack_retries } else { self.syn_retries };
        Config {
            mss,
            recovery: if on(self.recovery, true) { Recovery::Rack } else { Recovery::Sack },
            loss_probes: self.early_retrans.is_none_or(|value| value >= 3),
            frto: if on(self.frto, true) { base.frto } else { Frto::Off },
            timestamps: on(self.timestamps, base.timestamps),
            sack: on(self.sack, base.sack),
            window_scaling: on(self.window_scaling, base.window_scaling),
            ecn: self.does_ecn(passive),
            accurate_ecn: match self.ecn {
                Some(3) => true,
                Some(4 | 5) => passive,
                _ => false,
            },
            ecn_fallback: on(self.ecn_fallback, base.ecn_fallback),
            accurate_ecn_option: self.ecn_option().0,
            accurate_ecn_beacon: self.ecn_option().1,
            syn_retries: retries.unwrap_or(base.syn_retries),
            syn_linear_timeouts: self.syn_linear_timeouts.unwrap_or(base.syn_linear_timeouts),
            data_retries: self.retries2.unwrap_or(base.data_retries),
            rto_min: self.rto_min_us.map_or(base.rto_min, Duration::from_micros),
            rto_variance_min: self.rto_min_us.map_or(base.rto_variance_min, Duration::from_micros),
            idle_restart: on(self.slow_start_after_idle, base.idle_restart),
            linux_details: true,
            congestion_control: self.control(),
            hystart: control::has_hystart(self.control()),
            receive_buffer: self
                .rmem
                .map_or(base.receive_buffer, |[.., most]| Bytes(most * WINDOW_SHARE / 256)),
            // The scripts are written for kernels with a tick of 1 ms.
            timer_tick: Duration::from_millis(1),
            // The socket layer bounds what is written.
            send_buffer: Bytes(u64::MAX),
            ..base
        }
    }

    /// When the option of accurate ECN is sent, and how often a round trip at least.
    pub(crate) fn ecn_option(&self) -> (EcnOption, u8) {
        let option = match self.ecn_option {
            Some(0) => EcnOption::Unsent,
            Some(1) => EcnOption::Minimum,
            None | Some(2) => EcnOption::Full,
            Some(_) => EcnOption::Persistent,
        };
        (option, self.ecn_option_beacon.unwrap_or(3))
    }

    /// Of any kind (`enum tcp_ecn_mode`). The kernel's default is 2.
    fn does_ecn(&self, passive: bool) -> bool {
        match self.ecn.unwrap_or(2) {
            0 => false,
            1 | 3 | 4 => true,
            _ => passive,
        }
    }

    /// The window scale that the kernel offers for a receive buffer of `own` octets, if its size was set
    /// (`tcp_select_initial_window`): by what may become of it.
    pub(crate) fn window_shift(&self, own: Option<u64>) -> u8 {
        let most = self.rmem.map_or(0, |[.., most]| most).max(self.rmem_max.unwrap_or(0));
        // `tcp_full_space`: half of what was set counts as window.
        let space = own.map_or(most, |own| most.min(own / 2)).max(1);
        u8::try_from(space.ilog2().saturating_sub(15)).unwrap_or(u8::MAX)
    }

    /// How MTUs are probed, if they are.
    pub(crate) fn probing(&self) -> Option<MtuProbing> {
        let base = MtuProbing::default();
        let always = match self.mtu_probing? {
            0 => return None,
            1 => false,
            _ => true,
        };
        // `tcp_model_timeout`, without the bound of the RTO, which so few repetitions do not reach.
        let patience = self.retries1.map_or(base.patience, |n| RTO_MIN * ((2_u64 << n.min(8)) - 1));
        Some(MtuProbing {
            always,
            base: self.base_mss.unwrap_or(base.base),
            floor: self.mtu_probe_floor.unwrap_or(base.floor),
            threshold: self.probe_threshold.unwrap_or(base.threshold),
            interval: self.probe_interval.map_or(base.interval, Duration::from_secs),
            patience,
        })
    }

    /// What connections begin with; one that is not known counts as not set.
    pub(crate) fn control(&self) -> CongestionControl {
        let named = self.congestion_control.as_deref().and_then(control::named);
        named.unwrap_or(CongestionControl::LinuxCubic)
    }
}

fn one<T: FromStr>(text: &str) -> Option<T> {
    text.trim().parse().ok()
}

fn three(text: &str) -> Option<[u64; 3]> {
    let mut words = text.split_whitespace().map(|word| word.parse().ok());
    Some([words.next()??, words.next()??, words.next()??])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_or_malformed_counts_as_not_set() {
        let folder = std::env::temp_dir().join(format!("handfast-sysctl-{}", std::process::id()));
        fs::create_dir_all(folder.join("ipv4")).unwrap();
        fs::write(folder.join("ipv4/tcp_rmem"), "4096\t540000\t15728640\n").unwrap();
        fs::write(folder.join("ipv4/tcp_sack"), "0\n").unwrap();
        fs::write(folder.join("ipv4/tcp_wmem"), "4096 x 3\n").unwrap();
        let settings = Settings::read(&folder);
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(settings.rmem, Some([4096, 540_000, 15_728_640]));
        assert_eq!((settings.sack, settings.wmem, settings.timestamps), (Some(0), None, None));
        let config = settings.config(1460, true);
        assert!(!config.sack && config.timestamps);
        assert_eq!(config.receive_buffer, Bytes(15_728_640 * 158 / 256));
    }

    #[test]
    fn ecn_is_granted_more_readily_than_asked_for() {
        for (setting, asked, granted) in
            [(Some(0), false, false), (Some(1), true, true), (Some(2), false, true), (None, false, true)]
        {
            let settings = Settings { ecn: setting, ..Settings::default() };
            let found = [false, true].map(|passive| settings.config(1460, passive).ecn);
            assert_eq!(found, [asked, granted], "{setting:?}");
        }
    }

    #[test]
    fn accurate_ecn_is_granted_by_three_settings_and_asked_for_by_one() {
        for (setting, asked, granted) in
            [(1, false, false), (2, false, false), (3, true, true), (4, false, true)]
        {
            let settings = Settings { ecn: Some(setting), ..Settings::default() };
            let found = [false, true].map(|passive| settings.config(1460, passive).accurate_ecn);
            assert_eq!(found, [asked, granted], "{setting}");
        }
        let settings = Settings { ecn: Some(5), ecn_option: Some(1), ..Settings::default() };
        let [active, passive] = [false, true].map(|passive| settings.config(1460, passive));
        assert_eq!((active.ecn, passive.ecn, passive.accurate_ecn), (false, true, true));
        assert_eq!((active.accurate_ecn_option, active.accurate_ecn_beacon), (EcnOption::Minimum, 3));
    }

    #[test]
    fn both_kinds_of_opening_have_their_retries() {
        let settings = Settings { syn_retries: Some(5), synack_retries: Some(3), ..Settings::default() };
        assert_eq!(settings.config(1460, false).syn_retries, 5);
        assert_eq!(settings.config(1460, true).syn_retries, 3);
    }

    #[test]
    fn the_window_scale_follows_from_what_the_buffer_may_become() {
        let settings = |most| Settings { rmem: Some([4096, 131_072, most]), ..Settings::default() };
        for (most, own, shift) in [
            (33_554_432, None, 10),
            (6_291_456, None, 7),
            (65_535, None, 0),
            (6_291_456, Some(20_000), 0),
            (6_291_456, Some(200_000), 1),
        ] {
            assert_eq!(settings(most).window_shift(own), shift, "{most}, {own:?}");
        }
        let wide = Settings { rmem_max: Some(4_194_304), ..settings(100_000) };
        assert_eq!(wide.window_shift(None), 7);
    }

    #[test]
    fn mtus_are_probed_as_the_namespace_has_it() {
        let probing = |mtu_probing| Settings { mtu_probing, ..Settings::default() }.probing();
        assert_eq!((probing(None), probing(Some(0))), (None, None));
        assert_eq!(probing(Some(1)), Some(MtuProbing::default()));
        assert_eq!(probing(Some(2)).map(|how| how.always), Some(true));
        let settings = Settings { mtu_probing: Some(1), retries1: Some(4), ..Settings::default() };
        assert_eq!(settings.probing().map(|how| how.patience), Some(Duration::from_millis(6200)));
    }
}
