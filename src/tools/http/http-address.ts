import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { HoldfastError } from '../../core/errors/errors.js';
import { isPublicAddress } from './public-address.js';

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
