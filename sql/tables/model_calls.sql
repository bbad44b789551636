-- One row per model response, with its tokens; a count the server did not give is NULL.
-- grain: trajectory_id, position
select
    trajectory_id::varchar as trajectory_id,
    position::bigint as position,
    (payload ->> '$.turn')::bigint as turn,
    (payload ->> '$.response_key')::varchar as response_key,
    (payload ->> '$.request_digest')::varchar as request_digest,
    (payload ->> '$.model')::varchar as model,
    (payload ->> '$.finish_reason')::varchar as finish_reason,
    (payload ->> '$.input_tokens')::bigint as input_tokens,
    (payload ->> '$.cached_tokens')::bigint as cached_tokens,
    (payload ->> '$.output_tokens')::bigint as output_tokens,
    (payload ->> '$.usage_final')::boolean as usage_final,
    (payload ->> '$.latency_s')::double as latency_s
from events
where kind = 'model_called'
