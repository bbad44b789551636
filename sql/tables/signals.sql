-- One row per trajectory: the process signals that failure labels are read from.
-- grain: trajectory_id
-- A signal that the source does not carry is NULL: a harness's limit, a delivered answer.
with calls as (
    select
        trajectory_id,
        name,
        coalesce(arguments_json, arguments_raw, '') as arguments,
        count(*) as n,
        min(position) as first_position
    from tool_calls
    where component is null
    group by all
),

repeated as (
    select
        trajectory_id,
        sum(n) as n_calls,
        max(n) as max_repeats,
        max_by(name || ' ' || arguments, (n, -first_position)) as repeated_call
    from calls
    group by trajectory_id
),

failed as (
    select
        trajectory_id,
        mode(error order by position) as error,
        mode(name order by position) as error_tool
    from tool_calls
    where error is not null and component is null
    group by trajectory_id
),

fired as (
    select
        trajectory_id,
        count(*) filter (where effect = 'blocked') as n_blocked,
        count(*) filter (where effect = 'unlocked' and n_unresolved = 0) as n_unlocks,
        count(*) filter (where effect = 'unlocked' and n_unresolved > 0) as n_open_gates,
        max(detail) filter (where effect = 'unlocked' and n_unresolved > 0) as open_items,
        bool_or(effect = 'terminated') as harness_terminated
    from interventions
    group by trajectory_id
),

-- What backs an answer: the environment said it and the agent saw it. Words that the harness writes
-- beside a result (the question again, a warning) are nobody's evidence.
seen as (
    select
        trajectory_id,
        list_intersect(
            regexp_extract_all(lower(result_text), '[\p{L}\p{N}_]+([.-][\p{L}\p{N}_]+)*'),
            regexp_extract_all(lower(agent_view), '[\p{L}\p{N}_]+([.-][\p{L}\p{N}_]+)*')
        ) as words
    from tool_calls
    where ok and component is null
),

shown as (
    select
        trajectory_id,
        list_distinct(flatten(list(words))) as words
    from seen
    group by trajectory_id
),

claimed as (
    select
        trajectory_id,
        list_sort(
            list_distinct(
                regexp_extract_all(lower(answer), '[\p{L}\p{N}_]+([.-][\p{L}\p{N}_]+)*')
            )
        ) as claims
    from trajectories
    where delivered
),

backed as (
    select
        c.trajectory_id,
        len(c.claims) as n_claims,
        list_filter(
            c.claims, lambda w: not list_contains(coalesce(s.words, []), w) -- noqa: RF02
        ) as unbacked
    from claimed as c
    left join shown as s on c.trajectory_id = s.trajectory_id
)

select
    t.trajectory_id::varchar as trajectory_id,
    t.score::double as score,
    t.reward_trustworthy::boolean as reward_trustworthy,
    t.delivered::boolean as delivered,
    t.termination_class::varchar as termination_class,
    b.n_claims::bigint as n_claims,
    len(b.unbacked)::bigint as n_unbacked,
    (len(b.unbacked) / nullif(b.n_claims, 0))::double as unbacked_ratio,
    array_to_string(b.unbacked, ', ')::varchar as unbacked_claims,
    coalesce(f.n_open_gates, 0)::bigint as n_open_gates,
    f.open_items::varchar as open_items,
    coalesce(f.n_unlocks, 0)::bigint as n_unlocks,
    coalesce(f.n_blocked, 0)::bigint as n_blocked,
    coalesce(r.max_repeats, 0)::bigint as max_repeats,
    r.repeated_call::varchar as repeated_call,
    (t.n_turns / nullif(t.max_turns, 0))::double as budget_share,
    coalesce(f.harness_terminated, false)::boolean as harness_terminated,
    greatest(t.n_turns - coalesce(r.n_calls, 0), 0)::bigint as n_turns_without_call,
    e.error::varchar as error,
    e.error_tool::varchar as error_tool
from trajectories as t
left join backed as b on t.trajectory_id = b.trajectory_id
left join fired as f on t.trajectory_id = f.trajectory_id
left join repeated as r on t.trajectory_id = r.trajectory_id
left join failed as e on t.trajectory_id = e.trajectory_id
