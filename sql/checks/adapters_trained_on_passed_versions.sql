-- An adapter's dataset is a version of the examples that every suite passed.
select
    a.adapter_id,
    a.dataset_id
from adapters as a
left join datasets as d on a.dataset_id = d.dataset_id and a.line_id = d.line_id
left join gate_results as g
    on d.line_id = g.line_id and d.table_version = g.version and g.table = 'sft_examples'
group by a.adapter_id, a.dataset_id
having not coalesce(bool_and(g.passed), false)
