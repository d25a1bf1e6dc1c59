import { NOW_MS } from '../database/columns.js';

/** How a worker takes a segment, as parts of statements. What they are given is SQL of a value, such as a parameter. */

/** The recording version that takes segments without one: that of the worker which was started last. Null: none was. */
export const newestVersionSql = (application: string): string => `(select version_name from dbos.application_versions
    where application_name = ${application} or application_name is null order by version_timestamp desc limit 1)`;

/** What a claim sets in the row `s` of `dbos.workflow_status`, as DBOS does. */
export const claimSql = (of: {
  readonly owner: string;
  readonly executor: string;
  readonly version: string;
  readonly application: string;
}): string => `status = 'PENDING', owner_xid = ${of.owner}, executor_id = ${of.executor}, application_version = ${of.version},
         started_at_epoch_ms = ${NOW_MS}, rate_limited = false, application_name = coalesce(s.application_name, ${of.application}),
         recovery_attempts = s.recovery_attempts + 1, updated_at = ${NOW_MS},
         workflow_deadline_epoch_ms = coalesce(s.workflow_deadline_epoch_ms, ${NOW_MS} + s.workflow_timeout_ms)`;
