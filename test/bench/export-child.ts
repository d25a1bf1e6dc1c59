import { join } from 'node:path';
import { createEngine, LOCAL_CALLER, type StartExport } from 'holdfast';
import type { Place } from './place.js';

/** One process of a measurement of exports: makes one, and says what it took. */

interface ExportJob {
  readonly place: Place;
  readonly request: StartExport;
}

const { place, request }: ExportJob = JSON.parse(process.argv[2] ?? '{}');
const LOOK_MS = 50;

const engine = await createEngine({
  agents: [],
  ...place,
  exportDir: join(place.dataDir, 'exports'),
  workerId: 'bench',
});
const begun = { at: performance.now(), used: process.cpuUsage() };
let view = await engine.startExport(request, LOCAL_CALLER);
while (view.completedAt === null) {
  await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  view = await engine.getExport(view.id, LOCAL_CALLER);
}
const seconds = (performance.now() - begun.at) / 1000;
const { user, system } = process.cpuUsage(begun.used);
const processorSeconds = (user + system) / 1e6;
const { status, error, progress, files } = view;
const bytes = files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
const mb = process.resourceUsage().maxRSS / 1024;
process.stdout.write(
  `${JSON.stringify({ status, error, rows: progress.rows, bytes, seconds, processorSeconds, mb })}\n`,
);
await engine.stop();
process.exit(0);
