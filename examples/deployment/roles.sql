-- By an administrator: who owns the budget, who spends from it, who reads it.
CREATE ROLE curator LOGIN;
CREATE ROLE map_job LOGIN;
CREATE ROLE auditor LOGIN;
CREATE DATABASE budgets OWNER curator;
