-- By the curator, once the budget is made.
GRANT USAGE ON SCHEMA skdp_bary TO map_job, auditor;
GRANT SELECT ON ALL TABLES IN SCHEMA skdp_bary TO map_job, auditor;
GRANT INSERT ON skdp_bary.entries, skdp_bary.totals TO map_job;
GRANT UPDATE ON skdp_bary.totals TO map_job;
