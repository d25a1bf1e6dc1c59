import { Command, Option } from 'commander';
import { z } from 'zod';
import { readSettings } from '../../../config.js';
import { WORKER_ROLES, workerRole } from '../../../core/queue/worker.js';
import type { CliServices } from '../../cli-services.js';
import { portOption } from '../../options.js';

const options = z.object({
  host: z.string().optional(),
  port: z.number().optional(),
  role: workerRole.optional(),
});

export const serveCommand = (services: CliServices): Command =>
  new Command('serve')
    .option('--host <host>', 'address to listen on; beyond loopback only with configured tokens')
    .addOption(portOption())
    .addOption(
      new Option(
        '--role <role>',
        '`all` (default); `api`: serves and executes nothing; `worker`: executes runs and ' +
          'serves no API, and [metrics](operate/metrics.md) where `HOLDFAST_METRICS_PORT` says so',
      ).choices([...WORKER_ROLES]),
    )
    .action(async (raw: unknown) => {
      const settings = readSettings();
      const { host = settings.host, port = settings.port, role = settings.role } = options.parse(raw);
      // Loaded when needed: the other commands start without an engine.
      const { serve } = await import('./server-process.js');
      await serve({ ...settings, host, port, role }, services);
    });
