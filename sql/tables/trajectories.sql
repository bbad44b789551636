-- One row per trajectory: what was attempted, by which harness and weights, and how it ended.
-- grain: trajectory_id
-- Only our own loop says that nothing was delivered: in an import, `delivered` is true or NULL.
with opened as (
    select
        trajectory_id,
        payload,
        line_id,
        round,
        purpose,
        occurred_at
    from events
    where kind = 'trajectory_opened'
),

closed as (
    select
        trajectory_id,
        payload
    from events
    where kind = 'trajectory_closed'
),

scored as (
    select
        trajectory_id,
        arg_max_null(value_num, position) as score, -- the last score, also where it is none
        max_by(trustworthy, position) as trustworthy
    from scores
    where is_primary
    group by trajectory_id
),

delivered as (
    select
        trajectory_id,
        max_by(payload ->> '$.answer', position) as answer
    from events
    where kind = 'delivered'
    group by trajectory_id
),

called as (
    select
        trajectory_id,
        count(*) as n_turns,
        sum(input_tokens) as input_tokens,
        sum(cached_tokens) as cached_tokens,
        sum(output_tokens) as output_tokens
    from model_calls
    group by trajectory_id
),

said as (
    select
        trajectory_id,
        count(*) as n_messages,
        count(*) filter (where role = 'assistant' and not copied_context) as n_assistant
    from messages
    group by trajectory_id
),

used as (
    select
        trajectory_id,
        count(*) filter (where author in ('model', 'import')) as n_tool_calls
    from tool_calls
    group by trajectory_id
)

select
    o.trajectory_id::varchar as trajectory_id,
    (o.payload ->> '$.source')::varchar as source,
    (o.payload ->> '$.format')::varchar as format,
    (o.payload ->> '$.suite')::varchar as suite,
    (o.payload ->> '$.task_id')::varchar as task_id,
    (o.payload ->> '$.family')::varchar as family,
    (o.payload ->> '$.split')::varchar as split,
    (o.payload ->> '$.harness_id')::varchar as harness_id,
    (o.payload ->> '$.weights_id')::varchar as weights_id,
    (o.payload ->> '$.model')::varchar as model,
    (o.payload ->> '$.rollout')::bigint as rollout,
    (o.payload ->> '$.seed')::bigint as seed,
    o.purpose::varchar as purpose,
    o.line_id::varchar as line_id,
    o.round::bigint as round,
    (o.payload ->> '$.batch_id')::varchar as batch_id,
    (o.payload ->> '$.contract_id')::varchar as contract_id,
    (o.payload ->> '$.candidate_id')::varchar as candidate_id,
    (o.payload ->> '$.replay_of')::varchar as replay_of,
    (o.payload ->> '$.native_id')::varchar as native_id,
    (o.payload ->> '$.location.path')::varchar as source_path,
    (o.payload ->> '$.location.line')::bigint as source_line,
    (o.payload ->> '$.max_turns')::bigint as max_turns,
    coalesce(c.n_turns, s.n_assistant, 0)::bigint as n_turns,
    coalesce(s.n_messages, 0)::bigint as n_messages,
    coalesce(u.n_tool_calls, 0)::bigint as n_tool_calls,
    c.input_tokens::bigint as input_tokens,
    c.cached_tokens::bigint as cached_tokens,
    c.output_tokens::bigint as output_tokens,
    (x.payload ->> '$.cost_usd')::double as cost_usd,
    (x.payload ->> '$.duration_s')::double as duration_s,
    (x.payload ->> '$.termination_raw')::varchar as termination_raw,
    coalesce(x.payload ->> '$.termination_class', 'incomplete')::varchar as termination_class,
    (x.payload ->> '$.error')::varchar as error,
    case
        when d.trajectory_id is not null then true
        when o.payload ->> '$.source' = 'instar' then false
    end::boolean as delivered,
    d.answer::varchar as answer,
    p.score::double as score,
    coalesce(p.trustworthy, false)::boolean as reward_trustworthy,
    o.occurred_at::timestamptz as started_at
from opened as o
left join closed as x on o.trajectory_id = x.trajectory_id
left join scored as p on o.trajectory_id = p.trajectory_id
left join delivered as d on o.trajectory_id = d.trajectory_id
left join called as c on o.trajectory_id = c.trajectory_id
left join said as s on o.trajectory_id = s.trajectory_id
left join used as u on o.trajectory_id = u.trajectory_id
