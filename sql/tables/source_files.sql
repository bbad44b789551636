-- One row per imported file: what it was, and whether every record of it is accounted for.
-- grain: sha256, path
select
    stream_id::varchar as stream_id,
    (payload ->> '$.sha256')::varchar as sha256,
    (payload ->> '$.path')::varchar as path,
    (payload ->> '$.format')::varchar as format,
    (payload ->> '$.producer')::varchar as producer,
    (payload ->> '$.size_bytes')::bigint as size_bytes,
    (payload ->> '$.complete')::boolean as complete,
    (payload ->> '$.n_records')::bigint as n_records,
    (payload ->> '$.n_loaded')::bigint as n_loaded,
    (payload ->> '$.n_quarantined')::bigint as n_quarantined,
    (payload ->> '$.n_skipped')::bigint as n_skipped,
    (payload ->> '$.n_trajectories')::bigint as n_trajectories,
    (payload ->> '$.n_events')::bigint as n_events,
    recorded_at::timestamptz as loaded_at
from events
where kind = 'source_loaded'
