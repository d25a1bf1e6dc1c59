import { once } from 'node:events';
import { createServer } from 'node:net';
import { HoldfastError } from '../../core/errors/errors.js';

/** Looks whether a port can be listened on, without keeping it. Throws `port_in_use`, and `config_invalid` for a foreign address. */
export async function assertPortFree(host: string, port: number): Promise<void> {
  const server = createServer();
  try {
    server.listen(port, host);
    await once(server, 'listening');
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown';
    if (code === 'EADDRINUSE') throw new HoldfastError('port_in_use', `Port ${port} of ${host} is in use.`);
    throw new HoldfastError('config_invalid', `${host}, port ${port}, cannot be listened on (${code}).`, {
      cause,
      hint: 'Correct HOLDFAST_HOST and HOLDFAST_PORT, or --host and --port.',
    });
  }
  server.close();
  await once(server, 'close');
}
