import { type Command, Option } from 'commander';
import { z } from 'zod';
import { DIFFICULTIES } from '../../../core/tasks/task-definition.js';
import { timeOption } from '../../options.js';

const text = z.string().optional();

/** What `withTaskFilters` reads. */
export const taskFilters = { category: text, difficulty: text, dataset: text, from: text, to: text };

/** Adds the options that choose tasks by what they are and when they were submitted. */
export const withTaskFilters = (command: Command): Command =>
  command
    .option('--category <category>', 'only tasks of this category')
    .addOption(new Option('--difficulty <difficulty>', 'only tasks of this difficulty').choices(DIFFICULTIES))
    .option('--dataset <name@version>', 'only tasks of this dataset')
    .addOption(new Option('--from <time>', 'only tasks submitted at this time or later').argParser(timeOption))
    .addOption(new Option('--to <time>', 'only tasks submitted before this time').argParser(timeOption));
