/** The workflow of a segment: that of segment 0 has the id of the run, so that a run is found by either. */
export const workflowIdOf = (runId: string, segment: number): string => (segment === 0 ? runId : `${runId}:${segment}`);

/** The same in SQL, of the present segment of a row of `holdfast.runs`. */
export const workflowIdSql = (run: string): string =>
  `case when ${run}.segment = 0 then ${run}.id else ${run}.id || ':' || ${run}.segment end`;

/** And the way back, from a workflow's id. */
export const runIdSql = (id: string): string => `split_part(${id}, ':', 1)`;
export const segmentSql = (id: string): string => `coalesce(nullif(split_part(${id}, ':', 2), ''), '0')::int`;
