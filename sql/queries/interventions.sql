-- What did the harness do? Firings and effective changes per component.
select
    component,
    hook,
    tag,
    count(*) as n_fired,
    count(*) filter (where effect <> 'none') as n_effective,
    count(distinct trajectory_id) as n_trajectories
from interventions
group by all
order by component, hook
