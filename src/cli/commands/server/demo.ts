import { Command } from 'commander';
import { z } from 'zod';
import type { CliServices } from '../../cli-services.js';
import { createClient } from '../../client.js';

const options = z.object({ model: z.string().min(1).optional() });

export const demoCommand = (services: CliServices): Command =>
  new Command('demo')
    .option(
      '--model <model>',
      'a live model instead of the scripted one: `openai/<name>` with `OPENAI_API_KEY`, or ' + '`ollama/<name>`',
    )
    .action(async (raw: unknown) => {
      const { model = null } = options.parse(raw);
      process.exitCode = await services.runDemo({ model, connect: createClient });
    });
