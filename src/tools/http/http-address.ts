import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import ipaddr from 'ipaddr.js';
import { HoldfastError } from '../../core/errors/errors.js';

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

/** All addresses of a name. */
export type Resolve = (host: string) => Promise<readonly LookupAddress[]>;

export const systemResolve: Resolve = (host) => lookup(host, { all: true, verbatim: true });

/** `<host>:<port>` with the port always written. */
export const hostAndPort = (url: URL): string =>
  `${url.hostname}:${url.port === '' ? (url.protocol === 'https:' ? '443' : '80') : url.port}`;

/**
 * The addresses of a URL's host, resolved once; the connection goes to one of these and to no other. All of them must be public
 * unless the operator lists `<host>:<port>`. Throws `capability_denied` and `tool_failed`.
 */
export async function checkedAddresses(
  url: URL,
  resolve: Resolve,
  allowPrivate: ReadonlySet<string>,
): Promise<readonly LookupAddress[]> {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const family = isIP(host);
  const addresses = family === 0 ? await resolveName(host, resolve) : [{ address: host, family }];
  if (addresses.length === 0) throw new HoldfastError('tool_failed', `${host} has no address.`);
  if (allowPrivate.has(hostAndPort(url))) return addresses;
  const inner = addresses.find(({ address }) => !isPublicAddress(address));
  if (inner === undefined) return addresses;
  throw new HoldfastError('capability_denied', `${host} is at ${inner.address}, which is not a public address.`, {
    hint: 'If it must be reached, the operator lists host:port in allowPrivateAddresses of the tool.',
  });
}

async function resolveName(host: string, resolve: Resolve): Promise<readonly LookupAddress[]> {
  try {
    return await resolve(host);
  } catch (cause) {
    throw new HoldfastError('tool_failed', `The name ${host} could not be resolved.`, { cause });
  }
}
