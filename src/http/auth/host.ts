import { BlockList, isIP } from 'node:net';
import type { RequestHandler } from 'express';
import { HoldfastError } from '../../core/errors/errors.js';

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

const bare = (host: string): string => host.replace(/^\[(.*)\]$/, '$1').toLowerCase();

export function isLoopback(host: string): boolean {
  const name = bare(host);
  const family = isIP(name);
  return family === 0 ? name === 'localhost' : LOOPBACK.check(name, family === 4 ? 'ipv4' : 'ipv6');
}

/** Whether a text is a name or an IP address, as a server listens on. */
export const isHostName = (host: string): boolean =>
  isIP(bare(host)) !== 0 || /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?$/i.test(host);

export const nameOf = (header: string): string => bare(header.replace(/:\d*$/, ''));

/** The names that clients may reach a server under. */
export interface ServerNames {
  readonly boundHost: string;
  /** Where browsers reach it, if a proxy stands before it. */
  readonly publicUrl: URL | null;
}

/**
 * Refuses names that a foreign web page could point at this machine (DNS rebinding). Only a server that listens on
 * loopback knows all its names; another one is reached by names that it cannot know.
 */
export const checkHost =
  ({ boundHost, publicUrl }: ServerNames): RequestHandler =>
  (request, _response, next) => {
    const header = request.headers.host ?? '';
    const name = nameOf(header);
    if (!isLoopback(boundHost) || isLoopback(name) || name === bare(boundHost)) return next();
    if (publicUrl !== null && header.toLowerCase() === publicUrl.host) return next();
    throw new HoldfastError(
      'host_refused',
      `The Host header is "${header}"; expected localhost or a loopback address.`,
    );
  };
