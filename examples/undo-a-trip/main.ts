import { createEngine, defineConfig, definePlan, defineTool, LOCAL_CALLER } from 'holdfast';
import { z } from 'zod';

/** What the world has seen. */
const booked: string[] = [];

const booking = (name: string) =>
  defineTool({
    ...{ name: `book_${name}`, description: `Books the ${name}.` },
    ...{ input: z.object({ to: z.string() }), output: z.object({ id: z.string() }) },
    execute: ({ to }) => {
      if (name === 'car') throw new Error('no car is left');
      booked.push(name);
      return { id: `${name}-${to}` };
    },
  });
const cancelling = (name: string) =>
  defineTool({
    ...{ name: `cancel_${name}`, description: `Cancels the ${name}.` },
    ...{ input: z.object({ id: z.string() }), output: z.null() },
    execute: () => {
      booked.push(`cancelled ${name}`);
      return null;
    },
  });

const to = { $from: '/input/to' };
const trip = definePlan({
  name: 'trip',
  tools: [booking('flight'), cancelling('flight'), booking('hotel'), cancelling('hotel'), booking('car')],
  grants: ['tool:call:*'],
  plan: {
    input: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] },
    nodes: {
      flight: {
        type: 'tool',
        tool: 'book_flight',
        arguments: { to },
        undo: { tool: 'cancel_flight', arguments: { id: { $from: '/nodes/flight/id' } } },
      },
      hotel: {
        type: 'tool',
        tool: 'book_hotel',
        after: ['flight'],
        arguments: { to },
        undo: { tool: 'cancel_hotel', arguments: { id: { $from: '/nodes/hotel/id' } } },
      },
      car: { type: 'tool', tool: 'book_car', after: ['hotel'], arguments: { to } },
    },
  },
});

const engine = await createEngine({
  ...defineConfig({ agents: [trip] }),
  ...{ databaseUrl: null, dataDir: process.env['HOLDFAST_DATA_DIR'] ?? '.holdfast' },
});
const { id } = await engine.startRun({ agent: 'trip', input: '{"to":"Rome"}' }, LOCAL_CALLER);
const { status, error } = await engine.getRun(id, LOCAL_CALLER, { waitMs: 60_000 });
console.log(`${status}: ${error?.code}`);
console.log(booked.join(', '));
console.log(`verified: ${(await engine.verifyRun(id, LOCAL_CALLER)).ok}`);
await engine.stop();
