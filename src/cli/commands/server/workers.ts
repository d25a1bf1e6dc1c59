import { Command, Option } from 'commander';
import { z } from 'zod';
import type { WorkerOffer } from '../../../core/containers/worker-offer.js';
import { STOP_MODES, type WorkerView } from '../../../core/queue/worker.js';
import { connect } from '../../connect.js';
import {
  cursor,
  cursorOption,
  idArgument,
  json,
  jsonOption,
  limit,
  limitOption,
  misuse,
  printMore,
} from '../../options.js';
import { print, printJson, printTable } from '../../print.js';

const options = z.object({ json, limit, cursor, stop: z.enum(STOP_MODES).optional() });

export const workersCommand = (): Command =>
  new Command('workers')
    .argument('[worker]', 'id of a worker', idArgument)
    .addOption(
      new Option(
        '--stop <how>',
        'asks it to end: `stop` gives work in flight the time of a stop, `drain` lets it end',
      ).choices([...STOP_MODES]),
    )
    .addOption(cursorOption())
    .addOption(limitOption())
    .addOption(jsonOption())
    .action(async (id: string | undefined, raw: unknown) => {
      const { json: asJson, limit: most, cursor: from, stop } = options.parse(raw);
      if (id === undefined && stop !== undefined) throw misuse('The option --stop needs the id of a worker.');
      const client = connect();
      if (id === undefined) {
        const page = await client.listWorkers({ limit: most, cursor: from });
        if (asJson) return printJson(page);
        table(page.items);
        const { requirements } = (await client.getHealth()).checks;
        if (requirements?.detail !== undefined) print(requirements.detail);
        return printMore(page);
      }
      const worker = stop === undefined ? await client.getWorker(id) : await client.stopWorker(id, { mode: stop });
      if (asJson) return printJson(worker);
      table([worker]);
    });

const table = (workers: readonly WorkerView[]): void =>
  printTable(
    ['WORKER', 'ROLE', 'STATUS', 'RUNNING', 'CAPACITY', 'CONTAINERS', 'HAS', 'BUILD', 'HEARTBEAT'],
    workers.map(({ id, role, status, running, capacity, containers, offer, build, heartbeatAt }) => [
      ...[id, role, status, String(running), String(capacity), containers ? 'yes' : 'no'],
      ...[containers && offer !== null ? has(offer) : '-', build, heartbeatAt],
    ]),
  );

const has = ({ labels, architecture, cpuCores, memoryMb }: WorkerOffer): string =>
  [
    ...(architecture === null ? [] : [architecture]),
    ...(cpuCores === null ? [] : [`${cpuCores} processors`]),
    ...(memoryMb === null ? [] : [`${memoryMb} MB`]),
    ...Object.entries(labels).map(([name, value]) => `${name}=${value}`),
  ].join(', ');
