import { tool } from '@openai/agents';
import { z } from 'zod';

/** The tool that agents in these tests call over the wire. */
export const weather = tool({
  name: 'weather',
  description: 'The weather of a city.',
  parameters: z.object({ city: z.string() }),
  execute: ({ city }) => `12 degrees in ${city}`,
});
