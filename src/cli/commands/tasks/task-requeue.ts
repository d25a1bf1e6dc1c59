import { Command } from 'commander';
import { z } from 'zod';
import { connect } from '../../connect.js';
import { idArgument, json, jsonOption } from '../../options.js';
import { print, printJson } from '../../print.js';

const options = z.object({ json });

export const taskRequeueCommand = (): Command =>
  new Command('requeue')
    .description('Give a task new attempts that failed by an error and that none follows.')
    .argument('<task>', 'id of a task', idArgument)
    .addOption(jsonOption())
    .action(async (id: string, raw: unknown) => {
      const client = connect();
      const { attempts } = await client.getTask(id);
      const task = await client.requeueTask(id, { attempts });
      if (options.parse(raw).json) return printJson(task);
      print(`task ${task.id} ${task.status}, after ${attempts === 1 ? '1 attempt' : `${attempts} attempts`}`);
    });
