import { Command, Option } from 'commander';
import { z } from 'zod';
import type { CliServices } from '../../cli-services.js';
import { createClient } from '../../client.js';
import { filled } from '../../options.js';

const options = z.object({ model: z.string().optional() });

export const demoCommand = (services: CliServices): Command =>
  new Command('demo')
    .addOption(
      new Option(
        '--model <model>',
        'a live model instead of the scripted one: `openai/<name>` with `OPENAI_API_KEY`, or ' + '`ollama/<name>`',
      ).argParser(filled),
    )
    .action(async (raw: unknown) => {
      const { model = null } = options.parse(raw);
      process.exitCode = await services.runDemo({ model, connect: createClient });
    });
