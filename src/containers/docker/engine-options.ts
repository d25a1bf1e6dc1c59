import { readFileSync } from 'node:fs';
import type { Agent } from 'node:http';
import { join } from 'node:path';
import type Docker from 'dockerode';
import { checkedPlace, type EngineAddress } from '../../core/containers/engine-address.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { codeOrText } from '../../core/errors/system-code.js';
import { SshAgent } from './ssh-agent.js';

const PLAIN_PORT = 2375;
const TLS_PORT = 2376;

/** The declarations of the client leave out the agent, which it passes on to each request. */
type EngineOptions = Docker.DockerOptions & { readonly agent?: Agent };

/** How the client connects to an engine. Throws `config_invalid` for an address that cannot be used, and `secret_unreadable` for certificates. */
export function engineOptions(address: EngineAddress): EngineOptions {
  const place = checkedPlace(address);
  if (place.type === 'socket') return { socketPath: place.path };
  // The agent connects; the host only stands in the request.
  if (place.type === 'ssh') return { protocol: 'http', host: 'docker', port: PLAIN_PORT, agent: new SshAgent(place) };
  const { host, port } = place;
  if (address.certPath === null) return { protocol: 'http', host, port: port ?? PLAIN_PORT };
  const [ca, cert, key] = ['ca.pem', 'cert.pem', 'key.pem'].map((name) => read(join(address.certPath ?? '', name)));
  return { protocol: 'https', host, port: port ?? TLS_PORT, ca, cert, key };
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    const why = codeOrText(cause);
    throw new HoldfastError('secret_unreadable', `The certificate ${path} of the container engine: ${why}.`, {
      hint: 'DOCKER_CERT_PATH names a folder with ca.pem, cert.pem and key.pem.',
      cause,
    });
  }
}
