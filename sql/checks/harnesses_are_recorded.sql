-- The files of every harness that ran are in the lake.
select distinct t.harness_id
from trajectories as t
left join bundles as b on t.harness_id = b.harness_id
where t.source = 'instar' and b.harness_id is null
