import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import ipaddr from 'ipaddr.js';

const GLOBAL_UNICAST = ipaddr.IPv6.parse('2000::');

/** Public by its range, and yet answered by the host of a virtual machine: the platform of Azure. */
const OF_PLATFORMS = new Set(['168.63.129.16']);

/** The addresses of this machine, also those that others reach it by. They change while it runs. */
export const ownAddresses = (): readonly string[] =>
  Object.values(networkInterfaces()).flatMap((found) => (found ?? []).map(({ address }) => address));

/**
 * Whether an address belongs to the public internet, and not to this machine (`own`). Everything else is refused: loopback, private, link-local (the metadata
 * services of clouds), shared, multicast, reserved and documentation addresses, and IPv6 addresses that carry an IPv4 address
 * (mapped, compatible, NAT64, 6to4, Teredo, ISATAP), because the gateway that unpacks it may stand inside.
 */
export function isPublicAddress(address: string, own: readonly string[] = ownAddresses()): boolean {
  if (isIP(address) === 0) return false;
  const parsed = ipaddr.parse(address);
  const text = parsed.toNormalizedString();
  if (
    OF_PLATFORMS.has(text) ||
    own.some((one) => ipaddr.isValid(one) && ipaddr.parse(one).toNormalizedString() === text)
  )
    return false;
  if (parsed instanceof ipaddr.IPv4) return parsed.range() === 'unicast';
  return parsed.range() === 'unicast' && parsed.match(GLOBAL_UNICAST, 3) && !isIsatap(parsed.parts);
}

/** RFC 5214: an interface identifier 0000:5efe or 0200:5efe followed by an IPv4 address. */
const isIsatap = (parts: readonly number[]): boolean => (parts[4] === 0 || parts[4] === 0x0200) && parts[5] === 0x5efe;
