import { COPIES, type CopyName } from '../../../src/core/integrity/copied-rows.js';
import type { Column } from '../../../src/core/integrity/copied-table.js';

/**
 * What every column of the database is to the evidence.
 * `compared`: `verify` makes it again from the log, or holds it against what a signature covers.
 * `log`: it is the log, its hashes or its signatures, which `verify` checks.
 * `derived`: it is made again from what is compared, whenever someone wants.
 * `operational`: it says how work is done, and nothing of what a run did.
 * `shown`: it is shown, or relied on, as the row has it: nothing proves it.
 */
export type ColumnClass = 'compared' | 'log' | 'derived' | 'operational' | 'shown';

interface Classed {
  readonly is: ColumnClass;
  readonly why: string;
  readonly columns: string;
}

const all = (is: ColumnClass, why: string, columns: string): readonly Classed[] => [{ is, why, columns }];

const OTHERS: { readonly [table: string]: readonly Classed[] } = {
  migrations: all('operational', 'kept by knex', 'id name batch migration_time'),
  migrations_lock: all('operational', 'kept by knex', 'index is_locked'),
  events: [
    {
      is: 'log',
      why: 'hashed, or the number that follows from what is',
      columns:
        'run_id seq tenant v parent_id kind at data data_hash state_version state_hash_before state_hash_after prev_hash hash',
    },
    { is: 'operational', why: 'which event is written again, and who wrote it; not hashed', columns: 'key worker' },
  ],
  packed_events: [{ is: 'log', why: 'hashed, as in events', columns: 'run_id seq tenant events' }],
  packed_to: all('operational', 'up to where logs were packed', 'status tenant completed_at run_id'),
  run_heads: [
    { is: 'log', why: 'must be what the last event made', columns: 'run_id seq hash state state_hash' },
    { is: 'log', why: 'the chain of the log begins with it', columns: 'tenant' },
    {
      is: 'operational',
      why: 'from when on the next event may be, and whether it is to be entered',
      columns: 'at moved',
    },
  ],
  run_keys: [
    { is: 'log', why: 'no payload fits its commitment under another key', columns: 'run_id key' },
    { is: 'operational', why: 'read by the run alone', columns: 'tenant' },
  ],
  log_entries: [
    { is: 'log', why: 'in the leaf of the tree', columns: 'index tenant run_id seq hash state_hash complete previous' },
    { is: 'log', why: 'in the leaf of a loss, and hashes of the tree', columns: 'loss actor reason hashes' },
    { is: 'log', why: 'in the leaf of a removed document of memory', columns: 'document space' },
    { is: 'operational', why: 'when it was entered, which no one is shown as proof', columns: 'at' },
  ],
  log_checkpoints: all('log', 'trusted by its signature alone', 'size tenant root note at'),
  fold_snapshots: all(
    'derived',
    'folded from the log; used only where it fits',
    'run_id seq tenant hash state state_hash',
  ),
  rewards: all(
    'shown',
    'chained by hashes of its own, which `intact` says; no signature covers them',
    'run_id version tenant data data_hash actor at head_seq head_hash prev_hash hash',
  ),
  trajectories: all(
    'derived',
    'made from runs, logs and rewards',
    'run_id tenant agent task_id tags models result reward steps counts quality diversity sketch score_version created_at completed_at',
  ),
  trajectories_due: all('operational', 'which are to be made', 'run_id tenant tries due_at'),
  budgets: all(
    'shown',
    'what is left of a budget; the charges of runs add up to it',
    'id tenant scope name day nano_usd limit_nano_usd',
  ),
  saved_states: all('shown', 'of runs that the engine does not run', 'tenant name envelope saved_at'),
  sessions: all(
    'shown',
    'the conversation as it is kept; what a run was given of it is in the log',
    'tenant id run_id items bytes labels created_at updated_at',
  ),
  session_items: all('shown', 'the same', 'tenant session_id seq run_id item'),
  memory_documents: [
    {
      is: 'compared',
      why: 'with the digests that the log has of the last write',
      columns:
        'tenant space owner key scope version value labels document words created_at changed_at expires_at id salt remade',
    },
    { is: 'derived', why: 'made by the database from the words', columns: 'search' },
  ],
  memory_changes: all(
    'compared',
    'with the digests that the log has of the write',
    'tenant space owner key version base ops frontiers run_id call_id event agent actors derived_from labels at',
  ),
  memory_writes: all(
    'compared',
    'with the digest that the log has of the writes of a call',
    'call_key n run_id tenant version at document change state',
  ),
  memory_embeddings: all(
    'derived',
    'made by an embedding model from the words, and only says which documents are looked at',
    'tenant space owner key model dimensions signs tries due_at changed_in',
  ),
  memory_vectors: all('derived', 'the same', 'tenant space owner key vector'),
  tasks: all(
    'shown',
    'what was submitted, and the result as it was written; the run and its log say what was done',
    'id tenant definition_hash name version category difficulty tags agent parameters seed image reward_function priority metadata run_id attempts status result_type result reward verification_passed created_at updated_at completed_at retries retry_at requeues attempts_before batch',
  ),
  task_definitions: all(
    'shown',
    'named by a hash, which nothing signed has',
    'tenant hash name version definition created_at category difficulty registered_at registered_by deprecated_at deprecated_by deprecated_reason',
  ),
  datasets: all(
    'shown',
    'named by a hash, which nothing signed has',
    'id tenant name version description hash tasks created_at created_by',
  ),
  dataset_tasks: all('shown', 'which tasks a dataset has', 'tenant dataset dataset_version place name hash'),
  batches: all('shown', 'under which key tasks were submitted', 'tenant key lines refused actor submitted_at'),
  agent_versions: all(
    'shown',
    'what was proposed, tried and decided stands in the log of the run that proposed it',
    'tenant id agent base_hash definition_hash version patch report report_digest status share measure actor reason created_at applied_at ended_at',
  ),
  alerts: all(
    'operational',
    'what a rule of the configuration found; the next evaluation finds it again',
    'tenant name state since right_since told told_times value compared tasks evaluated_at next_at silenced_until silenced_by silence_reason',
  ),
  run_deadlines: all(
    'operational',
    'when a worker looks at a run; its limits, which are compared, say whether its time is over',
    'run_id tenant ends_at',
  ),
  webhooks: all(
    'shown',
    'up to where a webhook was told, and what keeps it from more; no run depends on it',
    'tenant name position tries due_at failing_since problem holder held_until delivered delivered_at given_up',
  ),
  pulled_images: all(
    'operational',
    'which images an engine got for runs; a removed one is pulled again',
    'tenant engine id names state lease_until pulled_at used_at',
  ),
  artifacts: all('operational', 'which artifacts there are says the log', 'run_id tenant place goes_at created_at'),
  exports: all(
    'shown',
    'how far an export is; its files have digests',
    'id tenant status request actor folder runs done rows skipped files error cancel_requested_at created_at updated_at completed_at revision sending attempt attempt_by attempt_deaths',
  ),
  exported_runs: all('shown', 'which runs an export has', 'tenant export_id run_id part gone_at'),
  export_runs: all('operational', 'of an export at work', 'tenant export_id position run_id task'),
  export_digests: all('operational', 'of an export at work', 'tenant export_id digest part'),
  erasures: [
    ...all('compared', 'with the entry in `log_entries`', 'run_id tenant actor reason seq hash'),
    ...all('shown', 'entries have no time and name no request', 'erased_at request_id'),
  ],
  removed_runs: [
    ...all(
      'compared',
      'with the entry in `log_entries`, by `checkpoint --verify`',
      'run_id tenant seq hash reason actor',
    ),
    ...all('shown', 'the entry has neither', 'state_hash removed_at'),
  ],
  erasure_requests: all(
    'shown',
    'how far an erasure is',
    'id tenant subject status cancel actor reason erased taken_until requested_at finished_at',
  ),
  run_subjects: all('shown', 'whom runs are about, in no log, so that it can be erased', 'tenant subject run_id'),
  tool_marks: all(
    'shown',
    'what a replay found, which can be done again',
    'tenant tool tool_version run_id seq marked_at',
  ),
  system_events: all(
    'shown',
    'news of the whole system, not hashed',
    'id position tenant shared kind key task_id run_id worker_id data at',
  ),
  system_event_head: all('operational', 'how far news is placed', 'single tenant position trimmed queue_depth'),
  emitted_events: all(
    'shown',
    'what was told from outside; what a run took of it is in its log',
    'tenant id name key run_id payload digest actor status delivered emitted_at expires_at',
  ),
  access_log: all('shown', 'who asked for what, not hashed', 'id tenant at actor role method route target status'),
  environments: all(
    'operational',
    'containers that are there; what a run did in them is in its log',
    'run_id attempt tenant engine key spec spec_hash state lease_until deadline started_at created_at updated_at purpose source_run source_purpose source_attempt seq keep_hours',
  ),
  timers: all(
    'operational',
    'when someone looks; what is settled is in the log',
    'id run_id tenant kind target due_at',
  ),
  idempotency_keys: all(
    'operational',
    'which request was made before',
    'tenant operation key fingerprint run_id created_at',
  ),
  chores: all('operational', 'who does what when', 'name tenant due_at'),
  work_notes: all('operational', 'who is at work', 'id tenant name worker epoch began_at'),
  dispatch_limits: all(
    'operational',
    'as the configuration says',
    'tenant kind name concurrency rate_runs rate_per_ms',
  ),
  dispatch_starts: all('operational', 'what a rate counts', 'run_id tenant agent started_at expires_at'),
  workers: all(
    'operational',
    'processes',
    'id tenant epoch build pid started_at heartbeat_at stopped_at role capacity running alone_run_id stop_asked session recording_version told_status leaving_at containers engine offer',
  ),
  crashes: all('operational', 'whom to run alone', 'run_id tenant segment steps crashes worker crashed_at alone'),
  instance: all('operational', 'a name among those that share an engine of containers', 'id tenant single'),
};

/** Why a column of a copied row is no evidence says what it is instead. */
const OF_COPIES: { readonly [because: string]: ColumnClass } = {
  'it names the log': 'log',
  'the chain of the log begins with it': 'log',
  'it names the row': 'log',
  'the log has the tokens of the input and of the output alone': 'shown',
  'the log does not say which attempt gave an answer': 'shown',
  'what is given back to budgets, which no one is shown': 'operational',
  'a worker has begun the segment, and its event is written with the first that follows': 'operational',
  'agents are of no tenant': 'operational',
  'an engine has seen the definition first then, maybe long before the run': 'operational',
  'which execution on which worker holds the call changes when one is lost': 'operational',
  'no event has the moment in which the row was written': 'operational',
  'the event of the outcome is written later, with others': 'operational',
  'how often the call has waited: its interruptions say it': 'derived',
  'what the call waits for: its interruption says it, with the digest of the memo': 'derived',
  'the decision under which it went on: its row says it; the log has the digest of the memo': 'derived',
  'the event of the list is written with others of the segment': 'operational',
  'the event of the list is written later, with others': 'operational',
  'another run may have been given the list before': 'operational',
  'how the state is kept, which its digest covers': 'operational',
  'a state that was made again from the log is written later': 'operational',
};

const classOf = (rule: Column<never>): ColumnClass | undefined =>
  'because' in rule ? OF_COPIES[rule.because] : 'compared';

/** The class of each column, by table. Undefined: no one has said it. */
export const COLUMN_CLASSES: { readonly [table: string]: { readonly [column: string]: ColumnClass | undefined } } = {
  ...Object.fromEntries(
    Object.keys(COPIES).map((name) => [
      name,
      Object.fromEntries(
        Object.entries<Column<never>>(COPIES[name as CopyName].columns).map(([column, rule]) => [
          column,
          classOf(rule),
        ]),
      ),
    ]),
  ),
  ...Object.fromEntries(
    Object.entries(OTHERS).map(([table, parts]) => [
      table,
      Object.fromEntries(parts.flatMap(({ is, columns }) => columns.split(' ').map((column) => [column, is]))),
    ]),
  ),
};
