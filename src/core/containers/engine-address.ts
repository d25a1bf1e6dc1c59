import { HoldfastError } from '../errors/errors.js';

/** Where a container engine is, and how it is reached. */
export type EnginePlace =
  /** A socket of this machine. */
  | { readonly type: 'socket'; readonly path: string }
  | { readonly type: 'tcp'; readonly host: string; readonly port: number | null; readonly isLocal: boolean }
  /** `path`: of the socket there; null: the one that `docker` there uses. */
  | {
      readonly type: 'ssh';
      readonly user: string | null;
      readonly host: string;
      readonly port: number | null;
      readonly path: string | null;
    };

/** What an address of an engine looks like, for errors. */
export const ENGINE_ADDRESS =
  'unix:///path/of/a/socket, tcp://host:port (beyond this machine with DOCKER_CERT_PATH), or ssh://user@host:port';

const HOST = '(\\[[0-9A-Fa-f:.]{2,45}\\]|[A-Za-z0-9][A-Za-z0-9.-]{0,252})';
const PORT = '(?::(\\d{1,5}))?';
const PATH = '(/[^\\s?#\\x00-\\x1f\\x7f]{1,1000})';
const SOCKET = new RegExp(`^unix://${PATH}$`);
const TCP = new RegExp(`^tcp://${HOST}${PORT}/?$`);
const SSH = new RegExp(`^ssh://(?:([A-Za-z0-9_][\\w.-]{0,63})@)?${HOST}${PORT}(?:/|${PATH})?$`);
const LOCAL = new Set(['127.0.0.1', 'localhost', '[::1]']);
const PORT_MOST = 65_535;

/** Reads an address as DOCKER_HOST has it; null: it is none. */
export function enginePlace(address: string): EnginePlace | null {
  const [, socket] = SOCKET.exec(address) ?? [];
  if (socket !== undefined) return { type: 'socket', path: socket };
  const [, host, tcpPort] = TCP.exec(address) ?? [];
  if (host !== undefined) {
    const port = portOf(tcpPort);
    return port === 'wrong' ? null : { type: 'tcp', host: unbracketed(host), port, isLocal: LOCAL.has(host) };
  }
  const [, user = null, sshHost, sshPort, path = null] = SSH.exec(address) ?? [];
  if (sshHost === undefined) return null;
  const port = portOf(sshPort);
  return port === 'wrong' ? null : { type: 'ssh', user, host: unbracketed(sshHost), port, path };
}

function portOf(text: string | undefined): number | null | 'wrong' {
  if (text === undefined) return null;
  const port = Number(text);
  return port >= 1 && port <= PORT_MOST ? port : 'wrong';
}

const unbracketed = (host: string): string => (host.startsWith('[') ? host.slice(1, -1) : host);

/** The address of an engine, with the folder of the certificates that encrypt it. */
export interface EngineAddress {
  readonly host: string;
  /** Has `ca.pem`, `cert.pem` and `key.pem`, as for other clients of Docker. Null: the connection is not encrypted by TLS. */
  readonly certPath: string | null;
}

/** Throws `config_invalid` for an address that is none, and for one on another machine whose traffic anyone could read and change. */
export function checkedPlace({ host, certPath }: EngineAddress): EnginePlace {
  const place = enginePlace(host);
  if (place === null)
    throw new HoldfastError('config_invalid', `${host} is no address of a container engine.`, {
      hint: `Expected ${ENGINE_ADDRESS}.`,
    });
  if (place.type === 'tcp' && !place.isLocal && certPath === null)
    throw new HoldfastError('config_invalid', `The container engine at ${host} is on another machine, without TLS.`, {
      hint: 'Set DOCKER_CERT_PATH to a folder with ca.pem, cert.pem and key.pem, or use ssh://user@host.',
    });
  return place;
}
