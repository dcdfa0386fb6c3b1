//! Which addresses a name must not lead to unless they are named themselves: whoever answers for a name could else point it
//! at this machine, at its neighborhood, or at the services that hand out the cloud's keys.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Services of clouds that tell a machine its keys, where they are not link-local or private anyway.
const METADATA: [Ipv4Addr; 3] = [
    Ipv4Addr::new(168, 63, 129, 16),
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(192, 0, 0, 192),
];
const METADATA_LINK_LOCAL: Ipv4Addr = Ipv4Addr::new(169, 254, 169, 254);
const METADATA_V6: Ipv6Addr = Ipv6Addr::new(0xFD00, 0x0EC2, 0, 0, 0, 0, 0, 0x0254);

/// What an address is, if it is none of the open internet: as the end of "ADDRESS is …".
pub(crate) fn near(address: IpAddr) -> Option<&'static str> {
    match address.to_canonical() {
        IpAddr::V4(address) => near_v4(address),
        IpAddr::V6(address) => near_v6(address),
    }
}

fn near_v4(address: Ipv4Addr) -> Option<&'static str> {
    let [first, second, third, _] = address.octets();
    Some(match (first, second, third) {
        _ if METADATA.contains(&address) || address == METADATA_LINK_LOCAL => "the cloud's metadata service",
        (0, ..) => "not the address of a host",
        (127, ..) => "this machine",
        (169, 254, _) => "a link-local address",
        (10, ..) | (172, 16..=31, _) | (192, 168, _) => "a private address",
        (100, 64..=127, _) => "an address inside a provider's network",
        (192, 0, 0) | (192, 88, 99) => "an address for protocols",
        (198, 18..=19, _) => "an address reserved for benchmarks",
        (224.., ..) => "a multicast or reserved address",
        _ => return None,
    })
}

fn near_v6(address: Ipv6Addr) -> Option<&'static str> {
    let segments = address.segments();
    Some(match segments {
        _ if address == METADATA_V6 => "the cloud's metadata service",
        [0, 0, 0, 0, 0, 0, 0, 1] => "this machine",
        // What carries an address of the older kind leads where that one does.
        [0, 0, 0, 0, 0, 0, high, low] => return near_v4(joined(high, low)).or(Some("not the address of a host")),
        [0x64, 0xFF9B, 0, 0, 0, 0, high, low] => return near_v4(joined(high, low)),
        [0x64, 0xFF9B, ..] => "an address that a local translator leads on",
        [0x2002, high, low, ..] => return near_v4(joined(high, low)),
        [0x2001, 0, ..] => "an address of a tunnel",
        [first, ..] if first & 0xFFC0 == 0xFE80 => "a link-local address",
        [first, ..] if first & 0xFFC0 == 0xFEC0 || first & 0xFE00 == 0xFC00 => "a private address",
        [first, ..] if first >= 0xFF00 => "a multicast or reserved address",
        // All that is given out to hosts of the internet.
        [first, ..] if first & 0xE000 != 0x2000 => "not the address of a host",
        // Of a host by its older address; last, as its beginning may be any.
        [.., 0x0000 | 0x0200, 0x5EFE, high, low] => return near_v4(joined(high, low)),
        _ => return None,
    })
}

fn joined(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_near_by_table() {
        for (address, expected) in [
            ("93.184.216.34", false),
            ("192.0.2.7", false),
            ("2606:2800:220:1::1", false),
            ("64:ff9b::5db8:d822", false),
            ("2002:5db8:d822::1", false),
            ("127.0.0.1", true),
            ("127.255.0.9", true),
            ("0.0.0.0", true),
            ("0.1.2.3", true),
            ("10.0.0.1", true),
            ("172.16.0.1", true),
            ("172.31.255.255", true),
            ("172.32.0.1", false),
            ("192.168.1.1", true),
            ("100.64.0.1", true),
            ("100.127.255.255", true),
            ("100.128.0.1", false),
            ("169.254.169.254", true),
            ("169.254.170.2", true),
            ("168.63.129.16", true),
            ("100.100.100.200", true),
            ("192.0.0.192", true),
            ("198.18.0.1", true),
            ("224.0.0.1", true),
            ("240.0.0.1", true),
            ("255.255.255.255", true),
            ("::", true),
            ("::1", true),
            ("::127.0.0.1", true),
            ("::ffff:127.0.0.1", true),
            ("::ffff:169.254.169.254", true),
            ("::ffff:0:127.0.0.1", true),
            ("64:ff9b::7f00:1", true),
            ("64:ff9b::a9fe:a9fe", true),
            ("64:ff9b:1::1", true),
            ("2002:7f00:1::", true),
            ("2002:a9fe:a9fe::1", true),
            ("2001:0:7f00:1::1", true),
            ("2606:4700::5efe:a00:1", true),
            ("2606:4700::5efe:808:808", false),
            ("fd12::5efe:808:808", true),
            ("fd12::200:5efe:808:808", true),
            ("fe80::5efe:102:304", true),
            ("fec0::5efe:102:304", true),
            ("ff02::5efe:808:808", true),
            ("100::5efe:808:808", true),
            ("fd00:ec2::254", true),
            ("fd12::1", true),
            ("fe80::1", true),
            ("fec0::1", true),
            ("ff02::1", true),
            ("100::1", true),
        ] {
            let parsed = address.parse().expect("an address");
            assert_eq!(near(parsed).is_some(), expected, "{address}: {:?}", near(parsed));
        }
        assert_eq!(
            near("169.254.169.254".parse().expect("one")),
            Some("the cloud's metadata service")
        );
        assert_eq!(
            near("fd00:ec2::254".parse().expect("one")),
            Some("the cloud's metadata service")
        );
    }
}
