import type { Request } from 'express';
import { HoldfastError } from '../../core/errors/errors.js';

/** https://www.w3.org/TR/fetch-metadata: browsers say which site asks, and a page cannot change what they say. */
const siteOf = (request: Request): string | undefined => request.get('sec-fetch-site');

const isRead = ({ method }: Request): boolean => method === 'GET' || method === 'HEAD';

const refused = (what: string): HoldfastError => new HoldfastError('cross_site', what);

/** Whether the header Origin names the place that the request came to. Proxies end TLS, so that both schemes may be meant. */
function isOwnOrigin(origin: string, request: Request): boolean {
  const host = request.headers.host?.toLowerCase();
  return origin === `http://${host}` || origin === `https://${host}`;
}

/** Refuses what a page of another site asks, whatever the request brings along. Throws `cross_site`. */
export function assertNoForeignPage(request: Request): void {
  const site = siteOf(request);
  if (site !== undefined && site !== 'same-origin' && site !== 'none')
    throw refused(`The page of another site asked (Sec-Fetch-Site: ${site}).`);
  const { origin } = request.headers;
  if (origin !== undefined && !isOwnOrigin(origin, request))
    throw refused(`The header Origin is "${origin}", which is not the address that was asked.`);
}

/** What a page reads with the cookie: data and downloads, never what a browser would draw or run. */
const READABLE = new Set([undefined, 'empty', 'document']);

/**
 * Refuses a request by cookie that the console did not make. A cookie that is `SameSite=Strict` also goes along with a form on
 * another port of this machine. Throws `cross_site`.
 */
export function assertFromConsole(request: Request): void {
  assertNoForeignPage(request);
  const dest = request.get('sec-fetch-dest');
  if (isRead(request)) {
    if (!READABLE.has(dest)) throw refused(`A browser wanted the answer as "${dest}"; expected data or a download.`);
    return;
  }
  if (siteOf(request) !== 'same-origin' && request.headers.origin === undefined)
    throw refused('A request that changes something has neither Sec-Fetch-Site: same-origin nor the header Origin.');
  if (request.get('holdfast-console') !== '1')
    throw refused('A request by cookie that changes something needs the header Holdfast-Console: 1.');
}
