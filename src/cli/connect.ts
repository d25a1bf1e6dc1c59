import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readSettings, type Settings } from '../config.js';
import { HoldfastError } from '../core/errors/errors.js';
import { type Client, createClient } from './client.js';

const EVERYWHERE: { readonly [host: string]: string } = { '0.0.0.0': '127.0.0.1', '::': '::1' };

/** The server that the commands talk to. One that listens everywhere is reached on loopback. */
export function serverUrl({ serverUrl: url, host, port }: Settings): string {
  if (url !== null) return url;
  const name = EVERYWHERE[host] ?? host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
}

/** A client of the server that the settings name. Throws `unauthenticated` when there is no token to show. */
export function connect(settings: Settings = readSettings()): Client {
  return createClient(serverUrl(settings), settings.clientToken ?? tokenOf(settings.dataDir));
}

function tokenOf(dataDir: string): string {
  const file = join(dataDir, 'token');
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (cause) {
    const why = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unreadable';
    throw new HoldfastError('unauthenticated', `There is no token to show: ${file} cannot be read (${why}).`, {
      cause,
      hint: 'Start `holdfast serve` here, or set HOLDFAST_TOKEN, or HOLDFAST_DATA_DIR to the data directory of the server.',
    });
  }
}
