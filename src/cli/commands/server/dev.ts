import { Command } from 'commander';
import { z } from 'zod';
import { readSettings } from '../../../config.js';
import type { CliServices } from '../../cli-services.js';
import { needConfig } from '../../load-config.js';
import { portOption } from '../../options.js';
import { print } from '../../print.js';

const options = z.object({
  open: z.boolean().default(true),
  check: z.boolean().default(false),
  port: z.number().optional(),
});

export const devCommand = (services: CliServices): Command =>
  new Command('dev')
    .addOption(portOption())
    .option('--no-open', 'do not open the console')
    .option('--check', 'load the configuration, say what is wrong with it, and end')
    .action(async (raw: unknown) => {
      const { open, check, port } = options.parse(raw);
      const settings = readSettings();
      if (check) {
        const { agentsOf } = await import('./server-process.js');
        const { registerAgents } = await import('../../../engine/agents/agent-registry.js');
        const { config, from } = await agentsOf(settings, services);
        print(`${from}: ${[...registerAgents(config).keys()].join(', ')}`);
        // A server or a timer that the configuration starts would keep the process.
        process.exit();
      }
      const { develop } = await import('./dev-server.js');
      await develop({ config: needConfig(settings.configFile), port: port ?? settings.port, open });
    });
