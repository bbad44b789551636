-- Which tool calls fail, how, and in how many trajectories?
select
    name,
    error,
    count(*) as n_calls,
    count(distinct trajectory_id) as n_trajectories
from tool_calls
where error is not null and component is null
group by all
order by n_calls desc
